if(TARGET gt-coordinator)
  add_executable(control_bench control_bench.cc)
  target_link_libraries(control_bench PRIVATE gt_test_cluster)
endif()

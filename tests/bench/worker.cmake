add_executable(worker_bench worker_bench.cc)
target_link_libraries(worker_bench PRIVATE gt_fake_coordinator gt_os gt_text)
target_compile_definitions(worker_bench PRIVATE GT_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
add_dependencies(worker_bench gt-worker gt-launcher)

add_executable(store_bench store_bench.cc ${CMAKE_SOURCE_DIR}/tests/unit/store/script.cc)
target_link_libraries(store_bench PRIVATE gt_coordinator_store)

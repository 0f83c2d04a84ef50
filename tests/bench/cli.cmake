add_executable(cli_bench cli_bench.cc ${CMAKE_SOURCE_DIR}/tests/unit/cli/fake_jobs.cc)
target_link_libraries(cli_bench PRIVATE gt_cli gt_grpc)

add_executable(spawn_bench spawn_bench.cc)
target_link_libraries(spawn_bench PRIVATE gt_launcher_protocol)
add_dependencies(spawn_bench gt-launcher)
target_compile_definitions(spawn_bench PRIVATE GT_LAUNCHER_BINARY="$<TARGET_FILE:gt-launcher>")

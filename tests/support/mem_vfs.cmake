# The store's test support: a text of a state, and a disk in memory that can lose power.
find_package(SQLite3 REQUIRED)
add_library(gt_test_state_text STATIC ${CMAKE_CURRENT_LIST_DIR}/state_text.cc)
target_link_libraries(gt_test_state_text PUBLIC gt_coordinator_core)
add_library(gt_test_mem_vfs STATIC ${CMAKE_CURRENT_LIST_DIR}/mem_vfs.cc)
target_link_libraries(gt_test_mem_vfs PUBLIC gt_base PRIVATE SQLite::SQLite3)

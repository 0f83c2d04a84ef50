add_library(gt_test_cluster STATIC cluster.cc fake_worker.cc fleet.cc)
target_link_libraries(gt_test_cluster PUBLIC gt_grpc gt_text gt_os GTest::gtest)

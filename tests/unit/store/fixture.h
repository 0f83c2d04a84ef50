#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/support/state_text.h"
#include "tests/unit/store/script.h"

namespace gt {

// A store in a directory of its own, and a script that plays into it.
class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(dir_.data()), nullptr);
    Reopen();
  }
  void TearDown() override {
    store_.reset();
    std::ignore = system(("rm -rf " + dir_).c_str());
  }
  std::string path() const { return dir_ + "/state.db"; }
  StoreOptions options() const { return {.cluster_id = "c1", .background = false}; }
  void Reopen() {
    store_.reset();
    Result<std::unique_ptr<Store>> opened = Store::Open(path(), options());
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = std::move(*opened);
  }
  void Commit() {
    Status done = script_.Commit(store_.get());
    ASSERT_TRUE(done.ok()) << done.message();
  }
  // What the disk says after a restart is what memory says now.
  void ExpectLoadsTheSame() {
    Reopen();
    Result<ClusterState> loaded = store_->Load();
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(TextOf(*loaded), TextOf(script_.state));
  }

  std::string dir_ = "/tmp/gt_store_XXXXXX";
  std::unique_ptr<Store> store_;
  Script script_;
};

}  // namespace gt

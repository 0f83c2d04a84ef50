#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os/file.h"
#include "worker/launcher/crc32.h"
#include "worker/launcher/journal.h"

namespace gt::launcher {
namespace {

class JournalTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(dir_.data()), nullptr); }
  void TearDown() override { std::ignore = system(("rm -rf " + dir_).c_str()); }
  std::map<Uid, JournalEntry> Load() {
    std::map<Uid, JournalEntry> entries;
    Journal journal;
    EXPECT_TRUE(journal.Open(path(), &entries).ok());
    return entries;
  }
  std::string path() const { return dir_ + "/journal"; }
  Started MakeStart(uint64_t n) { return {{n, n}, "boot", {1}, 0, 2, 5}; }
  std::string dir_ = "/tmp/gt_journal_XXXXXX";
};

TEST_F(JournalTest, StartsKeepersExitsAndForgetsComeBack) {
  {
    std::map<Uid, JournalEntry> none;
    Journal journal;
    ASSERT_TRUE(journal.Open(path(), &none).ok());
    EXPECT_TRUE(none.empty());
    for (uint64_t n = 1; n <= 3; ++n) ASSERT_TRUE(journal.AppendStart(MakeStart(n)).ok());
    ASSERT_TRUE(journal.AppendKeeper({1, 1}, {77, 99}).ok());
    ASSERT_TRUE(journal.AppendExit({.uid = {2, 2}, .why = EndWhy::kRankFailed, .message = "m"}).ok());
    ASSERT_TRUE(journal.AppendForget({3, 3}).ok());
    ASSERT_TRUE(journal.Write().ok());
  }
  for (int round = 0; round < 2; ++round) {  // opening rewrites the file: nothing may get lost by that
    auto entries = Load();
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ((entries[{1, 1}].keeper.pid), 77);
    EXPECT_FALSE((entries[{1, 1}].exit.has_value()));
    EXPECT_EQ((entries[{2, 2}].exit->message), "m");
  }
}

TEST_F(JournalTest, ATornOrDamagedTailLosesOnlyItself) {
  {
    std::map<Uid, JournalEntry> none;
    Journal journal;
    ASSERT_TRUE(journal.Open(path(), &none).ok());
    ASSERT_TRUE(journal.AppendStart(MakeStart(1)).ok());
    ASSERT_TRUE(journal.AppendStart(MakeStart(2)).ok());
    ASSERT_TRUE(journal.Sync().ok());
  }
  std::string bytes = ReadFile(path()).value();
  size_t used = bytes.find_last_not_of('\0') + 1;
  for (size_t damaged = used / 2 + 8; damaged < used; damaged += 9) {
    std::string torn = bytes;
    torn[damaged] = static_cast<char>(torn[damaged] ^ 0x55);
    ASSERT_TRUE(WriteFile(path(), torn).ok());
    EXPECT_EQ(Load().size(), 1u) << damaged;
  }
  ASSERT_TRUE(WriteFile(path(), bytes.substr(0, used - 1)).ok());
  EXPECT_EQ(Load().size(), 1u);
}

TEST_F(JournalTest, ItStaysSmallOverManyAttemptsAndGrowsForManyLivingOnes) {
  std::map<Uid, JournalEntry> none;
  Journal journal;
  ASSERT_TRUE(journal.Open(path(), &none).ok());
  std::string tail(4096, 'x');
  for (uint64_t n = 1; n <= 5000; ++n) {
    ASSERT_TRUE(journal.AppendStart(MakeStart(n)).ok());
    ASSERT_TRUE(journal.AppendExit({.uid = {n, n}, .ranks = {{.tail = tail}}}).ok());
    ASSERT_TRUE(journal.AppendForget({n, n}).ok());
  }
  struct stat info;
  ASSERT_EQ(stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_size, static_cast<off_t>(Journal::kSmallest));
  for (uint64_t n = 1; n <= 3000; ++n) {
    ASSERT_TRUE(journal.AppendStart(MakeStart(n)).ok());
    ASSERT_TRUE(journal.AppendExit({.uid = {n, n}, .ranks = {{.tail = tail}}}).ok());
  }
  ASSERT_TRUE(journal.Write().ok());
  EXPECT_EQ(Load().size(), 3000u);
}

TEST_F(JournalTest, AFileOfNonsenseCountsAsEmpty) {
  ASSERT_TRUE(WriteFile(path(), "this is not a journal at all").ok());
  EXPECT_TRUE(Load().empty());
}

TEST_F(JournalTest, ARecordOfAKindThatALaterVersionWritesChangesNothing) {
  std::string body, record;
  Writer write_body(&body), write_record(&record);
  write_body(uint8_t{9}, MakeStart(1));
  write_record(static_cast<uint32_t>(body.size()), Crc32(body));
  record += body;
  {
    std::map<Uid, JournalEntry> none;
    Journal journal;
    ASSERT_TRUE(journal.Open(path(), &none).ok());
    ASSERT_TRUE(journal.AppendStart(MakeStart(1)).ok());
    ASSERT_TRUE(journal.Write().ok());
  }
  std::map<Uid, JournalEntry> entries;
  std::map<Uid, std::string> live;
  Journal::Replay(ReadFile(path()).value(), &entries, &live);
  std::string started = live.at({1, 1});
  entries.clear(), live.clear();
  Journal::Replay(started + record + record, &entries, &live);
  EXPECT_EQ(entries.size(), 1u);
  EXPECT_EQ((live[{1, 1}]), started);
}

}  // namespace
}  // namespace gt::launcher

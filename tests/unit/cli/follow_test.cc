#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/log_printer.h"
#include "tests/unit/cli/fake_jobs.h"

namespace gt {
namespace {

using namespace gridtrain::v1;
using testing::HasSubstr;

TEST(LogPrinter, BytesPassThroughUntouchedWithoutPrefix) {
  std::string out;
  LogPrinter printer({}, [&](std::string_view text) { out += text; });
  printer.Add(Chunk(0, 0, "10%\r20%"));
  printer.Add(Chunk(0, 7, "\xff\nlast"));
  EXPECT_EQ(out, "10%\r20%\xff\nlast");
}

TEST(LogPrinter, WithAPrefixLinesOfSeveralRanksAreNotMixed) {
  std::string out;
  LogPrinter printer({.prefix = true}, [&](std::string_view text) { out += text; });
  printer.Add(Chunk(0, 0, "he"));
  printer.Add(Chunk(1, 0, "one\ntwo\nthr"));
  printer.Add(Chunk(0, 2, "llo\n"));
  printer.Add(Chunk(0, 0, "error\n", 2));
  EXPECT_EQ(out, "[rank 1] one\n[rank 1] two\n[rank 0] hello\n[rank 0] error\n");
  printer.Flush();
  EXPECT_THAT(out, testing::EndsWith("[rank 1] thr\n"));
}

TEST(LogPrinter, WhatIsSentAgainIsPrintedOnce) {
  std::string out;
  LogPrinter printer({}, [&](std::string_view text) { out += text; });
  printer.Add(Chunk(0, 0, "abc"));
  printer.Add(Chunk(0, 0, "abcdef"));
  printer.Add(Chunk(0, 2, "cd"));
  printer.Add(Chunk(0, 0, "second", 1, 2));  // another attempt starts again at 0
  EXPECT_EQ(out, "abcdefsecond");
  ReadLogsRequest request;
  printer.FillCursors(&request);
  ASSERT_EQ(request.cursors_size(), 2);
  EXPECT_EQ(request.cursors(0).offset(), 6u);
}

TEST(LogPrinter, ALineWithoutEndIsHeldOnlySoLong) {
  std::string out;
  LogPrinter printer({.prefix = true}, [&](std::string_view text) { out += text; });
  printer.Add(Chunk(0, 0, std::string(kMaxHeldLine, 'x')));
  EXPECT_EQ(out.size(), kMaxHeldLine + 10);
}

TEST(LogPrinter, TimestampsStreamsAndJson) {
  std::string out;
  auto sink = [&](std::string_view text) { out += text; };
  LogPrinter stamped({.timestamps = true}, sink);
  stamped.Add(Chunk(0, 0, "a\n"));
  LogPrinter only({.prefix = true, .stream = 2}, sink);
  only.Add(Chunk(0, 0, "hidden\n", 1));
  only.Add(Chunk(0, 0, "shown\n", 2));
  EXPECT_EQ(out, "1970-01-01T00:00:01.000Z a\n[rank 0] shown\n");
  out.clear();
  LogPrinter lines({.json = true}, sink);
  lines.Add(Chunk(3, 0, "x\xff\n", 2));
  auto json = nlohmann::json::parse(out);
  EXPECT_EQ(json["rank"], 3);
  EXPECT_EQ(json["stream"], "stderr");
}

TEST(Logs, PrintWhatThereIsWithAPrefixForSeveralRanks) {
  FakeJobs fake;
  fake.AddJob(42, TASK_ACTIVE);
  fake.jobs[42].mutable_spec()->mutable_resources()->mutable_nodes()->set_count(2);
  fake.logs = [](int, const ReadLogsRequest& request, grpc::ServerWriter<LogChunk>* writer) {
    EXPECT_FALSE(request.follow());
    writer->Write(Chunk(0, 0, "zero\n"));
    writer->Write(Chunk(1, 0, "one\n"));
    writer->Write(EndChunk());
    return grpc::Status::OK;
  };
  EXPECT_EQ(Against(fake)({"logs", "42"}).out, "[rank 0] zero\n[rank 1] one\n");
  EXPECT_EQ(Against(fake)({"logs", "42", "--prefix", "never"}).out, "zero\none\n");
}

TEST(Logs, SelectionGoesToTheCoordinator) {
  FakeJobs fake;
  fake.AddJob(42, TASK_ACTIVE);
  fake.jobs[42].mutable_spec()->mutable_resources()->mutable_nodes()->set_count(6);
  ReadLogsRequest seen;
  fake.logs = [&](int, const ReadLogsRequest& request, grpc::ServerWriter<LogChunk>* writer) {
    seen = request;
    writer->Write(EndChunk());
    return grpc::Status::OK;
  };
  EXPECT_EQ(Against(fake)({"logs", "42_7", "--rank", "0,3", "--rank", "5", "--attempt", "2", "--tail", "10"}).code, 0);
  EXPECT_EQ(seen.task_index(), 7u);
  EXPECT_THAT(seen.ranks(), testing::ElementsAre(0, 3, 5));
  EXPECT_EQ(seen.attempt(), 2u);
  EXPECT_EQ(seen.tail_lines(), 10u);
  EXPECT_EQ(Against(fake)({"logs", "42", "--attempt", "all"}).code, 0);
  EXPECT_TRUE(seen.all_attempts());
  EXPECT_EQ(Against(fake)({"logs", "9"}).code, 3);
  RunResult no_rank = Against(fake)({"logs", "42", "--rank", "6"});
  EXPECT_EQ(no_rank.code, 3);
  EXPECT_THAT(no_rank.err, HasSubstr("job 42 has no rank 6\nhint: its ranks are 0 to 5"));
  EXPECT_EQ(Against(fake)({"logs", "42", "--tail", "-4"}).code, 2);
  fake.jobs[42].mutable_summary()->set_array(true);
  RunResult array = Against(fake)({"logs", "42"});
  EXPECT_EQ(array.code, 2);
  EXPECT_THAT(array.err, HasSubstr("42_0"));
}

// A log of `lines` numbered lines, sent from the cursor on; the stream breaks off after each `most` bytes.
grpc::Status SendFrom(const ReadLogsRequest& request, int lines, size_t most, grpc::ServerWriter<LogChunk>* writer) {
  std::string all;
  for (int i = 0; i < lines; ++i) all += "line " + std::to_string(i) + "\n";
  uint64_t offset = request.cursors_size() > 0 ? request.cursors(0).offset() : 0;
  offset -= std::min<uint64_t>(offset, 3);  // what a reader has already may come again
  writer->Write(Chunk(0, offset, all.substr(offset, most)));
  if (offset + most < all.size()) return {grpc::StatusCode::UNAVAILABLE, "stopping"};
  writer->Write(EndChunk());
  return grpc::Status::OK;
}

TEST(Follow, NoLineIsLostOrRepeatedAcrossRestarts) {
  FakeJobs fake;
  fake.AddJob(42, TASK_SUCCEEDED);
  fake.logs = [](int, const ReadLogsRequest& request, grpc::ServerWriter<LogChunk>* writer) {
    return SendFrom(request, 10, 25, writer);
  };
  RunResult result = Against(fake)({"logs", "42", "-f"});
  std::string expected;
  for (int i = 0; i < 10; ++i) expected += "line " + std::to_string(i) + "\n";
  EXPECT_EQ(result.out, expected);
  EXPECT_EQ(result.code, 0);
  EXPECT_GT(fake.reads.load(), 2);
  EXPECT_THAT(result.err, HasSubstr("reconnecting"));
}

TEST(Follow, ACoordinatorThatGoesAwayAndComesBackIsFoundAgain) {
  FakeJobs fake;
  fake.AddJob(42, TASK_SUCCEEDED);
  std::atomic<int> round = 0;
  fake.logs = [&](int, const ReadLogsRequest& request, grpc::ServerWriter<LogChunk>* writer) {
    if (++round == 1) {
      writer->Write(Chunk(0, 0, "before\n"));
      while (fake.reads == 1 && round == 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "stopping");
    }
    EXPECT_EQ(request.cursors(0).offset(), 7u);
    writer->Write(Chunk(0, 7, "after\n"));
    writer->Write(EndChunk());
    return grpc::Status::OK;
  };
  std::thread restart([&] {
    while (round == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    fake.reads = 100;  // lets the first call go
    fake.Stop();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    fake.Start();
  });
  RunResult result = Against(fake)({"logs", "42", "-f"});
  restart.join();
  EXPECT_EQ(result.out, "before\nafter\n");
  EXPECT_EQ(result.code, 0);
}

TEST(Follow, EndsWithTheFinalRowAndTheExitCodeOfTheOutcome) {
  struct Case {
    WireTaskState state;
    WireCause cause;
    int code;
  };
  for (Case one : {Case{TASK_SUCCEEDED, CAUSE_SUCCEEDED, 0}, Case{TASK_FAILED, CAUSE_EXIT_NONZERO, 10},
                   Case{TASK_CANCELLED, CAUSE_CANCELLED, 11}, Case{TASK_FAILED, CAUSE_NODE_LOST, 12},
                   Case{TASK_FAILED, CAUSE_TIME_LIMIT, 13}}) {
    FakeJobs fake;
    JobSummary& job = fake.AddJob(42, one.state);
    job.set_cause(one.cause);
    job.set_exit_code(77);
    RunResult result = Against(fake)({"logs", "42", "-f"});
    EXPECT_EQ(result.code, one.code);
    EXPECT_THAT(result.err, HasSubstr("ID  NAME    STATE"));
    EXPECT_THAT(result.err, HasSubstr("next: gtctl "));
    EXPECT_EQ(Against(fake)({"logs", "42", "-f", "--propagate-exit-code"}).code, 77);
    EXPECT_EQ(Against(fake)({"wait", "42", "-q"}).code, one.code);
  }
}

TEST(Follow, SubmitAndFollowShowsTheOutput) {
  FakeJobs fake;
  fake.logs = [](int, const ReadLogsRequest& request, grpc::ServerWriter<LogChunk>* writer) {
    EXPECT_TRUE(request.follow());
    LogChunk notice;
    notice.set_attempt(2);
    notice.set_notice("attempt 2 on gpu-7");
    writer->Write(notice);
    writer->Write(Chunk(0, 0, "hello\n"));
    writer->Write(EndChunk());
    return grpc::Status::OK;
  };
  fake.watch = [&](int, const WatchRequest&, grpc::ServerWriter<JobSummary>* writer) {
    JobSummary job = fake.jobs[42].summary();
    job.set_state(TASK_SUCCEEDED);
    writer->Write(job);
    return grpc::Status::OK;
  };
  RunResult result = Against(fake)({"submit", "--follow", "--", "x"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "hello\n") << "standard output is the job's";
  EXPECT_THAT(result.err, HasSubstr("attempt 2 on gpu-7\n"));
}

TEST(Follow, CtrlCDetachesAndTheJobRunsOn) {
  FakeJobs fake;
  fake.AddJob(42, TASK_ACTIVE);
  std::atomic<bool> reading = false, over = false;
  fake.logs = [&](int, const ReadLogsRequest&, grpc::ServerWriter<LogChunk>* writer) {
    reading = true;
    while (!over && writer->Write(Chunk(0, 0, "x\n"))) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return grpc::Status::OK;
  };
  RunResult result;
  std::thread follower([&] { result = Against(fake)({"logs", "42", "-f"}); });
  while (!reading) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ::kill(::getpid(), SIGINT);
  follower.join();
  over = true;
  EXPECT_EQ(result.code, 130);
  EXPECT_THAT(result.err, HasSubstr("gtctl cancel 42"));
  EXPECT_TRUE(fake.cancels.empty());
}

TEST(Wait, GivesUpAtItsTimeoutWithFourteen) {
  FakeJobs fake;
  fake.AddJob(42, TASK_ACTIVE);
  RunResult result = Against(fake)({"wait", "42", "--timeout", "200ms"});
  EXPECT_EQ(result.code, 14);
  EXPECT_THAT(result.err, HasSubstr("still runs"));
}

TEST(Wait, SeveralJobsGiveTheHighestCodeAndAnyTheFirst) {
  FakeJobs fake;
  fake.AddJob(1, TASK_SUCCEEDED);
  fake.AddJob(2, TASK_CANCELLED);
  fake.AddJob(3, TASK_ACTIVE);
  EXPECT_EQ(Against(fake)({"wait", "1", "2"}).code, 11);
  RunResult any = Against(fake)({"wait", "1", "3", "--any", "-o", "json"});
  EXPECT_EQ(any.code, 0);
  EXPECT_EQ(nlohmann::json::parse(any.out)["jobs"].size(), 1u);
  EXPECT_EQ(Against(fake)({"wait", "1", "9"}).code, 3);
  EXPECT_EQ(Against(fake)({"wait", "9", "--propagate-exit-code"}).code, 125);
}

TEST(Wait, ReconnectsUntilTheEnd) {
  FakeJobs fake;
  fake.AddJob(42, TASK_ACTIVE);
  fake.watch = [&](int round, const WatchRequest&, grpc::ServerWriter<JobSummary>* writer) {
    JobSummary job = fake.jobs[42].summary();
    if (round == 3) job.set_state(TASK_SUCCEEDED);
    writer->Write(job);
    return round == 1 ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "stopping") : grpc::Status::OK;
  };
  EXPECT_EQ(Against(fake)({"wait", "42"}).code, 0);
  EXPECT_EQ(fake.watches.load(), 3);
}

TEST(Events, AreReadOnceAcrossReconnects) {
  FakeJobs fake;
  fake.AddJob(42, TASK_ACTIVE);
  fake.events = [](int round, const EventsRequest& request, grpc::ServerWriter<EventBatch>* writer) {
    EventBatch batch;
    for (uint64_t seq = round == 1 ? 1 : request.after_seq(); seq <= (round == 1 ? 2u : 3u); ++seq) {
      auto* event = batch.add_events();
      event->set_seq(seq);
      event->set_kind("PLACED");
      event->set_text("on gpu-" + std::to_string(seq));
    }
    batch.set_end(round == 2);
    writer->Write(batch);
    return round == 1 ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "stopping") : grpc::Status::OK;
  };
  RunResult result = Against(fake)({"events", "42", "-f"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out,
            "1970-01-01T00:00:00.000Z  PLACED  on gpu-1\n1970-01-01T00:00:00.000Z  PLACED  on gpu-2\n"
            "1970-01-01T00:00:00.000Z  PLACED  on gpu-3\n");
}

}  // namespace
}  // namespace gt

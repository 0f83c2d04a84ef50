#include "common/os/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace gt {
namespace {

TEST(Process, AnIdentityNamesThisVeryProcess) {
  auto identity = IdentityOf(getpid());
  ASSERT_TRUE(identity.ok());
  EXPECT_TRUE(IsAlive(*identity));
  ProcessIdentity other_start = *identity, other_boot = *identity;
  other_start.start_ticks += 1;
  other_boot.boot_id = "another";
  EXPECT_FALSE(IsAlive(other_start));
  EXPECT_FALSE(IsAlive(other_boot));
}

TEST(Process, AZombieIsNotAliveAndItsIdentityCannotBeSignalled) {
  auto pid = Spawn({.argv = {"/bin/sleep", "100"}});
  ASSERT_TRUE(pid.ok());
  auto identity = IdentityOf(*pid);
  ASSERT_TRUE(identity.ok());
  EXPECT_TRUE(SignalProcess(*identity, SIGKILL).ok());
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, *pid, &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(IsAlive(*identity));
  EXPECT_EQ(SignalProcess(*identity, SIGKILL).code(), Code::kNotFound);
  EXPECT_EQ(WaitFor(*pid)->signal, SIGKILL);
}

TEST(Process, SpawnGivesEnvironmentSessionAndExitCode) {
  auto pid = Spawn({.argv = {"sh", "-c", "test \"$GT_X\" = y && test $(ps -o sid= -p $$) = $$ && exit 7"},
                    .env = {"GT_X=y"},
                    .new_session = true});
  ASSERT_TRUE(pid.ok());
  auto status = WaitFor(*pid);
  EXPECT_EQ(status->code, 7);
  EXPECT_EQ(status->signal, 0);
}

TEST(Process, SpawnReportsAMissingProgram) {
  EXPECT_EQ(Spawn({.argv = {"/no/such/program"}}).status().code(), Code::kNotFound);
  EXPECT_EQ(WaitFor(1).status().code(), Code::kNotFound);
}

TEST(Process, TheListHoldsUsAndOurParent) {
  bool found = false;
  for (const ProcessStat& stat : ListProcesses())
    if (stat.pid == getpid()) found = stat.parent == getppid();
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace gt

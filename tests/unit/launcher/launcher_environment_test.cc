// What a rank finds when it starts: environment, user, descriptors, signals, limits.
#include <gmock/gmock.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>

#include "common/os/file.h"
#include "common/os/net.h"
#include "tests/unit/launcher/support.h"

namespace gt::launcher {
namespace {

using testing::HasSubstr;
class Environment : public LauncherTest {
 protected:
  std::map<std::string, std::string> EnvOf(const Uid& uid, uint32_t rank) {
    std::map<std::string, std::string> env;
    std::istringstream lines(Output(uid, rank));
    for (std::string line; std::getline(lines, line);) env[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
    return env;
  }
  std::string Say(const std::string& script) {
    Uid uid = Run(Shell(script));
    client().WaitExit(uid);
    return Output(uid);
  }
};
GT_BOTH_CONTAINMENTS(Environment);

TEST_P(Environment, IsThatOfTorchrun) {
  StartLauncher();
  Start start = Shell("", 2);
  start.argv = {"/usr/bin/env"};
  start.task_index = 7, start.array = true, start.attempt_no = 3;
  start.first_rank = 2, start.world_size = 4, start.group_rank = 1, start.group_world_size = 2;
  start.local_endpoint = false;
  start.ranks = {{{"GPU-a"}}, {{"GPU-b"}}};
  start.env = {{"MINE", "x y"}, {"RANK", "99"}, {"OMP_NUM_THREADS", "4"}};
  Uid uid = Run(start);
  client().WaitPhase(uid, Phase::kStarting);
  client().Send(Go{uid, {2}, "127.0.0.1", 4711});
  EXPECT_EQ(client().WaitExit(uid).why, EndWhy::kCompleted);
  auto env = EnvOf(uid, 3);
  std::map<std::string, std::string> want = {
      {"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}, {"GROUP_RANK", "1"},
      {"GROUP_WORLD_SIZE", "2"}, {"ROLE_RANK", "3"}, {"ROLE_WORLD_SIZE", "4"}, {"ROLE_NAME", "default"},
      {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "4711"}, {"TORCHELASTIC_RESTART_COUNT", "2"},
      {"TORCHELASTIC_MAX_RESTARTS", "0"}, {"TORCHELASTIC_RUN_ID", "42_7"}, {"TORCHELASTIC_USE_AGENT_STORE", "False"},
      {"OMP_NUM_THREADS", "4"}, {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"}, {"CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b"},
      {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"NCCL_SOCKET_IFNAME", "lo"}, {"GLOO_SOCKET_IFNAME", "lo"},
      {"PYTHONUNBUFFERED", "1"}, {"MINE", "x y"}, {"GT_JOB_ID", "42"}, {"GT_TASK_INDEX", "7"}, {"GT_ATTEMPT", "3"},
      {"GT_GENERATION", "2"}, {"GT_ATTEMPT_UID", ToHex(uid)}, {"GT_NODE_ADDRESS", "127.0.0.1"}};
  for (const auto& [name, value] : want) EXPECT_EQ(env[name], value) << name;
  EXPECT_EQ(env["GT_KEY"].size(), 32u);
  EXPECT_THAT(env["TORCHELASTIC_ERROR_FILE"], HasSubstr(ToHex(uid) + ".1.json"));
  EXPECT_EQ(env.count("GT_LAUNCHER_BINARY"), 0u);
  EXPECT_EQ(EnvOf(uid, 2)["RANK"], "2");
}

TEST_P(Environment, NothingOfTheLaunchersOwnIsInherited) {
  setenv("GT_TEST_SECRET", "do not leak", 1);
  StartLauncher();
  unsetenv("GT_TEST_SECRET");
  EXPECT_EQ(Say("env | grep -c SECRET"), "0\n");
}

TEST_P(Environment, AJobWithoutGpusSeesNone) {
  StartLauncher();
  EXPECT_EQ(Say("echo \"[${CUDA_VISIBLE_DEVICES-unset}]\""), "[]\n");
}

TEST_P(Environment, ALocalScriptFindsItsMasterPortFreeAndOutsideTheEphemeralRange) {
  StartLauncher();
  Uid uid = Run(Shell("[ $RANK = 0 ] || exit 0; python3 -c '\nimport os, socket, time\n"
                      "for i in range(100):\n"
                      "  try: s = socket.create_server((os.environ[\"MASTER_ADDR\"], int(os.environ[\"MASTER_PORT\"]))); break\n"
                      "  except OSError: time.sleep(0.01)\n"
                      "print(os.environ[\"MASTER_PORT\"], i)'", 2));
  ExitRecord exit = client().WaitExit(uid);
  ASSERT_EQ(exit.why, EndWhy::kCompleted) << exit.ranks[0].tail;
  int port = std::stoi(Output(uid));
  auto [low, high] = EphemeralPortRange();
  EXPECT_TRUE(port < low || port > high) << port;
}

TEST_P(Environment, AScriptGangWaitsForGoWithItsPortHeldAndThenGetsTheEndpoint) {
  StartLauncher();
  Start start = Shell("touch $SHARED/ran; echo $MASTER_ADDR:$MASTER_PORT $RANK/$WORLD_SIZE");
  start.local_endpoint = false;
  start.world_size = 2;
  start.hold_port = true;
  Uid uid = Run(start);
  uint16_t port = client().WaitPhase(uid, Phase::kPrepared).prepared_port;
  EXPECT_FALSE(ListenTcp("127.0.0.1", port).ok()) << "held";
  client().TakeFor(100);
  EXPECT_FALSE(Exists(shared_ + "/ran"));
  client().Send(Go{uid, {0}, "10.0.0.1", 1});  // an older generation changes nothing
  client().Send(Go{uid, {1}, "127.0.0.1", port});
  EXPECT_EQ(client().WaitExit(uid).why, EndWhy::kCompleted);
  EXPECT_EQ(Output(uid), "127.0.0.1:" + std::to_string(port) + " 0/2\n");
  EXPECT_TRUE(ListenTcp("127.0.0.1", port).ok()) << "let go";
}

TEST_P(Environment, TheProcessIsClean) {
  StartLauncher();
  EXPECT_EQ(Say("readlink /proc/self/fd/0"), "/dev/null\n");
  EXPECT_EQ(Say("ls /proc/self/fd | wc -l"), "4\n") << "0, 1, 2 and the one of ls itself";
  std::istringstream signals(Say("cat /proc/self/status | grep -E '^(SigBlk|SigIgn|SigCgt)'"));
  std::string name;
  // Signals 32 and 33 belong to the C library.
  for (uint64_t set; signals >> name >> std::hex >> set;) EXPECT_EQ(set & ~(3ull << 31), 0u) << name;
  EXPECT_EQ(name, "SigCgt:");
  EXPECT_EQ(Say("umask"), "0022\n");
  EXPECT_EQ(Say("cat /proc/self/oom_score_adj"), "0\n");
  EXPECT_EQ(Say("set -- $(cut -d' ' -f1,5,6 /proc/$$/stat); [ $1 = $2 ] && [ $1 = $3 ] && echo own session"), "own session\n");
}

TEST_P(Environment, ARankGetsTheLimitsThatTheLauncherFound) {
  StartLauncher();
  std::string here = std::to_string(sysconf(_SC_OPEN_MAX)) + "\n";
  EXPECT_EQ(Say("ulimit -n"), here);
}

TEST_P(Environment, ASpecFileIsReadableByTheJobAndGoneAfterwards) {
  StartLauncher();
  Start start = Shell("");
  start.spec_json = "{\"secret\": 1}";
  start.argv = {"/bin/sh", "-c", "echo $1; cat $1; stat -c ' %a' $1", "sh", "{spec}"};
  Uid uid = Run(start);
  EXPECT_EQ(client().WaitExit(uid).why, EndWhy::kCompleted);
  std::string said = Output(uid), path = said.substr(0, said.find('\n'));
  EXPECT_THAT(said, HasSubstr("\n{\"secret\": 1} 400\n"));
  EXPECT_TRUE(Eventually([&] { return !Exists(path); }));
}

TEST_P(Environment, ARootLauncherRunsJobsAsTheJobUser) {
  if (geteuid() != 0) GTEST_SKIP() << "not root";
  StartLauncher({"--job-user", "daemon"});
  passwd* daemon = getpwnam("daemon");
  std::string id = std::to_string(daemon->pw_uid) + " " + std::to_string(daemon->pw_gid);
  EXPECT_EQ(Say("echo $(id -ru) $(id -rg) $(id -u) $(id -G) $USER $HOME"),
            id + " " + id + " daemon " + daemon->pw_dir + "\n");
  EXPECT_EQ(Say("cd ; touch /proc/1/environ 2>/dev/null; cat " + dir_ + "/journal 2>&1 | tail -c 18"), "Permission denied\n");
  EXPECT_EQ(Say("pwd; touch here && echo writable"), shared_ + "/r/work\nwritable\n");
}

TEST_P(Environment, RootJobsAreRefusedUnlessAllowed) {
  if (geteuid() != 0) GTEST_SKIP() << "not root";
  StartLauncher({"--job-user", "root"});
  ExitRecord exit = RunToEnd("true");
  EXPECT_EQ(exit.why, EndWhy::kLaunchFailed);
  EXPECT_THAT(exit.message, HasSubstr("allow_root_jobs"));
  KillLauncher(SIGTERM);
  StartLauncher({"--job-user", "no-such-user"});
  EXPECT_THAT(RunToEnd("true").message, HasSubstr("'no-such-user' does not exist"));
  KillLauncher(SIGTERM);
  StartLauncher({"--job-user", "root", "--allow-root-jobs"});
  EXPECT_EQ(Say("id -u"), "0\n");
}

TEST_P(Environment, OutOfMemoryIsToldApartFromAKill) {
  StartLauncher();
  if (client().hello.containment.find("+memory") == std::string::npos) GTEST_SKIP() << "no memory controller";
  Start start = Shell("exec python3 -c 'x = bytearray(400 << 20)'");
  start.memory_limit = 64 << 20;
  ExitRecord exit = client().WaitExit(Run(start));
  EXPECT_TRUE(exit.oom) << exit.message << exit.ranks[0].tail;
  EXPECT_EQ(exit.ranks[0].signal, SIGKILL);
  EXPECT_THAT(exit.message, HasSubstr("out of memory: the limit is 64MiB"));
  EXPECT_GT(exit.peak_memory, 48 << 20);
  EXPECT_LE(exit.peak_memory, 65 << 20);

  Start modest = Shell("true");
  modest.memory_limit = 64 << 20;
  ExitRecord fine = client().WaitExit(Run(modest));
  EXPECT_EQ(fine.why, EndWhy::kCompleted) << fine.message;
  EXPECT_FALSE(fine.oom);
}

}  // namespace
}  // namespace gt::launcher

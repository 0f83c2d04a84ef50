#include "cli/gtctl.h"

#include "cli/commands.h"

namespace gt {

const std::vector<CommandInfo>& Commands() {
  static const std::vector<CommandInfo> commands = {
      {"submit", "[OPTIONS] FILE | [OPTIONS] -- COMMAND ...", "make a job of a file or a command",
       "  gtctl submit job.yaml --set train.epochs=3\n"
       "  gtctl submit --nodes 2 --gpus-per-node 8 --follow -- python train.py --lr 0.1\n"
       "  id=$(gtctl submit -q job.yaml) && gtctl wait $id\n",
       MakeSubmit, true},
      {"list", "[OPTIONS]", "show jobs, newest first",
       "  gtctl list\n  gtctl list --all --user me --state failed\n  gtctl list -o json | jq '.jobs[].id'\n", MakeList},
      {"status", "[OPTIONS] ID ...", "show all about jobs",
       "  gtctl status 42\n  gtctl status 42_7\n  gtctl status @last -o json\n", MakeStatus},
      {"logs", "[OPTIONS] ID", "show what a job prints",
       "  gtctl logs 42 -f\n  gtctl logs 42 --rank 3 --tail 100\n  gtctl logs 42_7 --attempt all --timestamps\n",
       MakeLogs},
      {"events", "[OPTIONS] [ID]", "tell the history of a job or of the cluster",
       "  gtctl events 42\n  gtctl events 42 -f\n  gtctl events -o jsonl\n", MakeEvents},
      {"explain", "[OPTIONS] ID", "say why a job is not running",
       "  gtctl explain 42\n  gtctl explain 42_7\n  gtctl explain @last -o json\n", MakeExplain},
      {"wait", "[OPTIONS] ID ...", "wait until jobs have ended",
       "  gtctl wait 42\n  gtctl wait 40-45 --any --timeout 1h\n  gtctl wait 42 --propagate-exit-code\n", MakeWait},
      {"cancel", "[OPTIONS] ID ...", "stop jobs",
       "  gtctl cancel 42 --reason \"wrong learning rate\"\n  gtctl cancel 42_7 --wait\n  gtctl cancel 40-45 -y\n",
       MakeCancel},
      {"nodes", "[OPTIONS] [list | drain NAME | undrain NAME]", "show machines, take them out of service and back",
       "  gtctl nodes\n  gtctl nodes drain gpu-7 --reason \"new disk\"\n  gtctl nodes undrain gpu-7\n", MakeNodes},
      {"server", "[OPTIONS] [status | backup [NAME] | check [NAME]]", "show the coordinator; copy and check its database",
       "  gtctl server status -o json\n  gtctl server backup before-upgrade\n  gtctl server check\n", MakeServer},
      {"version", "[OPTIONS]", "show versions", "  gtctl version\n  gtctl version --client\n  gtctl version -o json\n",
       MakeVersion},
      {"completion", "SHELL", "print a completion script for bash, zsh or fish",
       "  source <(gtctl completion bash)\n  gtctl completion zsh > ~/.zfunc/_gtctl\n  gtctl completion fish | "
       "source\n",
       MakeCompletion}};
  return commands;
}

int RunGtctl(const std::vector<std::string>& arguments, const Io& io) {
  ParsedCommand parsed = ParseCommandLine(arguments);
  Session session(io, parsed.options, std::move(parsed.rest));
  if (parsed.body) {
    int code = parsed.body->Run(&session);
    if (io.leave) io.leave(code);
    return code;
  }
  if (parsed.exit_code != kExitOk) return session.Usage(parsed.text, parsed.hint);
  io.out(parsed.text);
  return kExitOk;
}

}  // namespace gt

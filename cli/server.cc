// gtctl server status: the coordinator itself.
#include "cli/commands.h"
#include "cli/render.h"
#include "common/base/units.h"
#include "common/text/text.h"

namespace gt {
namespace {

using namespace gridtrain::v1;

class ServerCommand : public CommandBody {
 public:
  void Declare(Args* args) override { args->Words("WHAT", &words_, 0, 1, "status"); }

  int Run(Session* session) override {
    if (!words_.empty() && words_[0] != "status") return session->Usage("server takes status", "gtctl server --help");
    Result<Client*> client = session->client();
    if (!client.ok()) return session->Fail(client.status());
    ServerInfo info;
    if (Status status = (*client)->GetServer(&info); !status.ok()) return session->Fail(status);
    if (session->json()) {
      session->Print({{"schema_version", kSchemaVersion}, {"server", Describe(info)}});
    } else if (!session->quiet()) {
      Show(session, info);
    }
    return kExitOk;
  }

 private:
  static Json Describe(const ServerInfo& info) {
    return {{"version", Printable(info.version())},
            {"protocol", info.protocol()},
            {"cluster_id", Printable(info.cluster_id())},
            {"epoch", std::to_string(info.epoch())},
            {"started", TimeJson(info.has_started_ms(), info.started_ms())},
            {"address", Printable(info.address())},
            {"data_dir", Printable(info.data_dir())},
            {"live_jobs", info.live_jobs()},
            {"nodes_up", info.nodes_up()}};
  }

  static void Show(Session* session, const ServerInfo& info) {
    auto line = [](const std::string& name, const std::string& value) {
      return name + std::string(12 - name.size(), ' ') + Printable(value) + "\n";
    };
    session->Out(line("address", info.address()) + line("version", info.version()) +
                 line("protocol", std::to_string(info.protocol())) + line("cluster", info.cluster_id()) +
                 line("data", info.data_dir()) +
                 line("up for", HumanDuration(std::max<Millis>(WallMillis() - info.started_ms(), 0))) +
                 line("starts", std::to_string(info.epoch())) + line("live jobs", std::to_string(info.live_jobs())) +
                 line("nodes up", std::to_string(info.nodes_up())));
  }

  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<CommandBody> MakeServer() { return std::make_unique<ServerCommand>(); }

}  // namespace gt

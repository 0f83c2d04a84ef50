// gtctl version: of gtctl and of the coordinator.
#include "cli/commands.h"
#include "common/base/vocabulary.h"
#include "common/text/text.h"

namespace gt {
namespace {

class VersionCommand : public CommandBody {
 public:
  void Declare(Args* args) override { args->Flag("--client", &client_only_, "only gtctl's own; asks nobody"); }

  int Run(Session* session) override {
    Json client = {{"version", GT_VERSION}, {"protocol", kProtocolVersion}};
    gridtrain::v1::ServerInfo info;
    Status status;
    if (!client_only_) status = Ask(session, &info);
    Json server;
    if (!client_only_ && status.ok()) server = {{"version", Printable(info.version())}, {"protocol", info.protocol()}};
    if (!status.ok()) return session->json() ? session->Fail(status) : Unreached(session, status);
    if (session->json()) {
      session->Print({{"schema_version", kSchemaVersion}, {"client", client}, {"server", server}});
      return kExitOk;
    }
    session->Out("gtctl " GT_VERSION ", protocol " + std::to_string(kProtocolVersion) + "\n");
    if (client_only_) return kExitOk;
    session->Out("coordinator " + Printable(info.version()) + ", protocol " + std::to_string(info.protocol()) + "\n");
    if (info.protocol() != kProtocolVersion)
      session->Note(info.protocol() < kProtocolVersion ? "upgrade the coordinator" : "upgrade gtctl");
    return kExitOk;
  }

 private:
  static Status Ask(Session* session, gridtrain::v1::ServerInfo* info) {
    Result<Client*> client = session->client();
    return client.ok() ? (*client)->GetServer(info) : client.status();
  }
  static int Unreached(Session* session, const Status& status) {
    session->Out("gtctl " GT_VERSION ", protocol " + std::to_string(kProtocolVersion) + "\n");
    return session->Fail(status);
  }

  bool client_only_ = false;
};

}  // namespace

std::unique_ptr<CommandBody> MakeVersion() { return std::make_unique<VersionCommand>(); }

}  // namespace gt

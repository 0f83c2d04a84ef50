// gtctl server: the coordinator itself and its database.
#include "cli/commands.h"
#include "cli/render.h"
#include "common/base/units.h"
#include "common/text/text.h"

namespace gt {
namespace {

using namespace gridtrain::v1;

// Reading a large database takes its time.
constexpr Millis kDatabaseTimeout = 10 * kMinute;

class ServerCommand : public CommandBody {
 public:
  void Declare(Args* args) override { args->Words("WHAT", &words_, 0, 2, "status, backup [NAME] or check [NAME]"); }

  int Run(Session* session) override {
    std::string what = words_.empty() ? "status" : words_[0];
    bool database = what == "backup" || what == "check";
    if (!database && (what != "status" || words_.size() > 1))
      return session->Usage("server takes status, backup [NAME] or check [NAME]", "gtctl server --help");
    if (database) session->AllowTime(kDatabaseTimeout);
    Result<Client*> client = session->client();
    if (!client.ok()) return session->Fail(client.status());
    std::string name = words_.size() > 1 ? words_[1] : "";
    if (what == "backup") return Backup(session, *client, name);
    if (what == "check") return Check(session, *client, name);
    return Status(session, *client);
  }

 private:
  static int Status(Session* session, Client* client) {
    ServerInfo info;
    if (gt::Status status = client->GetServer(&info); !status.ok()) return session->Fail(status);
    if (session->json()) {
      session->Print({{"schema_version", kSchemaVersion}, {"server", Describe(info)}});
    } else if (!session->quiet()) {
      Show(session, info);
    }
    return kExitOk;
  }

  static int Backup(Session* session, Client* client, const std::string& name) {
    BackupRequest request;
    if (!name.empty()) request.set_name(name);
    DatabaseFile file;
    if (gt::Status status = client->Backup(request, &file); !status.ok()) return session->Fail(status);
    return ShowFile(session, file, "backup",
                    "copied and checked; to restore it, stop the coordinator, move coordinator.db and its -wal and -shm "
                    "away and copy this file there");
  }

  static int Check(Session* session, Client* client, const std::string& name) {
    CheckRequest request;
    if (!name.empty()) request.set_backup(name);
    DatabaseFile file;
    if (gt::Status status = client->Check(request, &file); !status.ok()) return session->Fail(status);
    return ShowFile(session, file, "check", "whole");
  }

  static int ShowFile(Session* session, const DatabaseFile& file, const char* what, const std::string& result) {
    std::string path = Printable(file.path());
    if (session->json()) {
      session->Print({{"schema_version", kSchemaVersion}, {what, {{"path", path}, {"bytes", file.bytes()}}}});
    } else {
      session->Out(path + "\n");
      session->Note(HumanBytes(static_cast<int64_t>(file.bytes())) + ", " + result);
    }
    return kExitOk;
  }

  static Json Describe(const ServerInfo& info) {
    return {{"version", Printable(info.version())},
            {"protocol", info.protocol()},
            {"cluster_id", Printable(info.cluster_id())},
            {"epoch", std::to_string(info.epoch())},
            {"started", TimeJson(info.has_started_ms(), info.started_ms())},
            {"address", Printable(info.address())},
            {"data_dir", Printable(info.data_dir())},
            {"live_jobs", info.live_jobs()},
            {"nodes_up", info.nodes_up()},
            {"disk_free", info.disk_free()},
            {"disk_note", info.has_disk_note() ? Json(Printable(info.disk_note())) : Json()}};
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
                 line("nodes up", std::to_string(info.nodes_up())) +
                 line("disk free", HumanBytes(static_cast<int64_t>(info.disk_free()))) +
                 (info.has_disk_note() ? line("disk", info.disk_note()) : ""));
  }

  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<CommandBody> MakeServer() { return std::make_unique<ServerCommand>(); }

}  // namespace gt

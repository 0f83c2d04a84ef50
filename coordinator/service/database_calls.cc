// Copies and checks of the database, for gtctl server. Minutes of a pool thread at most; one at a time is enough.
#include <time.h>

#include "common/os/file.h"
#include "coordinator/service/jobs_service.h"
#include "coordinator/store/store.h"

namespace gt {
namespace {

constexpr size_t kMaxBackupName = 100;

// Only a name: whoever holds the token may not write elsewhere on this machine.
Status CheckName(const std::string& name) {
  auto allowed = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; };
  if (name.empty() || name.size() > kMaxBackupName || name[0] == '.' || !std::all_of(name.begin(), name.end(), allowed))
    return {Code::kInvalidArgument, "the name of a backup is up to 100 letters, digits, '-', '_' and '.', and does not begin with '.'"};
  return OkStatus();
}

std::string PathOf(const std::string& data_dir, const std::string& name) {
  return data_dir + "/backups/" + name + (name.ends_with(".db") ? "" : ".db");
}

std::string NameOf(Millis wall) {
  time_t seconds = wall / kSecond;
  tm parts = {};
  gmtime_r(&seconds, &parts);
  char text[32];
  return std::string(text, strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts));
}

Status Describe(const std::string& path, wire::DatabaseFile* out) {
  out->set_path(path);
  GT_ASSIGN_OR_RETURN(uint64_t bytes, FileSize(path));
  out->set_bytes(bytes);
  return OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* JobsService::Backup(Context* context, const wire::BackupRequest* request, wire::DatabaseFile* response) {
  return OnPool(context, [=, this]() -> Status {
    std::string name = request->has_name() ? request->name() : NameOf(deps_.clock().wall);
    GT_RETURN_IF_ERROR(CheckName(name));
    std::string path = PathOf(deps_.facts.data_dir, name);
    if (deps_.disk->Look(deps_.clock().mono) != Space::kEnough)
      return {Code::kResourceExhausted, "too little space is free for a backup in " + deps_.facts.data_dir};
    GT_RETURN_IF_ERROR(deps_.store->Backup(path));
    GT_RETURN_IF_ERROR(Store::Check(path));
    return Describe(path, response);
  });
}

grpc::ServerUnaryReactor* JobsService::Check(Context* context, const wire::CheckRequest* request, wire::DatabaseFile* response) {
  return OnPool(context, [=, this]() -> Status {
    if (!request->has_backup()) {
      GT_RETURN_IF_ERROR(deps_.store->Check());
      return Describe(deps_.facts.data_dir + "/coordinator.db", response);
    }
    GT_RETURN_IF_ERROR(CheckName(request->backup()));
    std::string path = PathOf(deps_.facts.data_dir, request->backup());
    if (!Exists(path)) return {Code::kNotFound, "there is no " + path};
    GT_RETURN_IF_ERROR(Store::Check(path));
    return Describe(path, response);
  });
}

}  // namespace gt

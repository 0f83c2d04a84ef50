#include "coordinator/store/backup.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "common/os/file.h"
#include "coordinator/store/schema.h"

namespace gt {
namespace {

std::string BackupsOf(const std::string& path) {
  std::string dir = DirectoryOf(path);
  return dir.ends_with("/backups") ? dir : dir + "/backups";
}

// Only the look of one: whether it is whole, a check tells.
bool LooksWhole(const std::string& path) {
  Result<Fd> file = OpenFile(path, O_RDONLY);
  if (!file.ok()) return false;
  Result<std::string> begin = ReadAt(file->get(), 0, 16);
  return begin.ok() && *begin == std::string_view("SQLite format 3\0", 16);
}

// The newest *.db among the backups beside `path`, itself excepted.
std::string NewestBackup(const std::string& path) {
  std::string dir = BackupsOf(path), newest;
  Result<std::vector<std::string>> names = ListDirectory(dir);
  if (!names.ok()) return "";
  timespec newest_at = {};
  for (const std::string& name : *names) {
    struct stat info;
    std::string candidate = dir + "/" + name;
    if (!name.ends_with(".db") || candidate == path || !LooksWhole(candidate) || stat(candidate.c_str(), &info) != 0) continue;
    timespec at = info.st_mtim;
    if (newest.empty() || std::pair(at.tv_sec, at.tv_nsec) > std::pair(newest_at.tv_sec, newest_at.tv_nsec)) {
      newest = candidate;
      newest_at = at;
    }
  }
  return newest;
}

Status CopyInto(sqlite::Database* from, sqlite::Database* to) {
  sqlite3_backup* backup = sqlite3_backup_init(to->get(), "main", from->get(), "main");
  if (backup == nullptr) return to->Error(sqlite3_errcode(to->get()), "backup");
  // In one step, on one snapshot: steps would start over after each commit.
  int rc = sqlite3_backup_step(backup, -1);
  int finished = sqlite3_backup_finish(backup);
  if (rc != SQLITE_DONE) return to->Error(rc, "backup");
  if (finished != SQLITE_OK) return to->Error(finished, "backup");
  GT_RETURN_IF_ERROR(to->Exec("PRAGMA journal_mode = DELETE"));
  GT_RETURN_IF_ERROR(to->Exec("PRAGMA synchronous = FULL"));
  return to->Exec("UPDATE meta SET is_backup = 1");
}

Status CopyToFile(sqlite::Database* from, const std::string& path) {
  GT_ASSIGN_OR_RETURN(sqlite::Database to, sqlite::Database::Open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, ""));
  GT_RETURN_IF_ERROR(to.Exec("PRAGMA journal_mode = OFF"));
  return CopyInto(from, &to);
}

}  // namespace

Status WriteBackup(sqlite::Database* from, const std::string& path) {
  if (Exists(path)) return {Code::kAlreadyExists, path + " is there already"};
  GT_RETURN_IF_ERROR(MakeDirectories(DirectoryOf(path), 0700));
  std::string aside = path + ".partial";
  GT_RETURN_IF_ERROR(RemoveFile(aside));
  Status copied = CopyToFile(from, aside);
  if (copied.ok()) {
    Result<Fd> file = OpenFile(aside, O_RDONLY);
    copied = file.ok() && fsync(file->get()) == 0 ? OkStatus() : ErrnoStatus(errno, aside);
  }
  if (copied.ok() && rename(aside.c_str(), path.c_str()) != 0) copied = ErrnoStatus(errno, path);
  if (!copied.ok()) {
    std::ignore = RemoveFile(aside);
    return copied;
  }
  return SyncDirectory(DirectoryOf(path));
}

Status QuickCheck(sqlite::Database* db, const std::string& path) {
  GT_ASSIGN_OR_RETURN(int64_t application, db->QueryInt("PRAGMA application_id"));
  if (application != kApplicationId) return {Code::kFailedPrecondition, path + " is not a database of GridTrain"};
  GT_ASSIGN_OR_RETURN(sqlite::Statement check, db->Prepare("PRAGMA quick_check(1)"));
  Result<bool> row = check.Step();
  if (!row.ok()) return row.status().code() == Code::kDataLoss ? Damaged(path, row.status().message()) : row.status();
  std::string answer = check.Text(0);
  return answer == "ok" ? OkStatus() : Damaged(path, answer);
}

Status Damaged(const std::string& path, const std::string& what) {
  std::string backup = NewestBackup(path);
  std::string next = backup.empty() ? "no other backup lies in " + BackupsOf(path)
                                    : "the newest backup is " + backup +
                                          ": move the damaged file (and its -wal and -shm) away and copy it there";
  return {Code::kDataLoss, path + " is damaged (" + what + "); " + next};
}

}  // namespace gt

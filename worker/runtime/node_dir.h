// The worker's data directory: who this node is, kept over restarts, and a lock so that it is one worker at a time.
//   lock         held while the worker lives
//   node.json    {"uid", "name"}: made at the first start
//   epoch        highest coordinator epoch obeyed
//   shipped      offset of the spool that the coordinator has
//   launcher/    gt-launcher's own
#pragma once
#include <string>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/os/fd.h"

namespace gt::worker {

class NodeDir {
 public:
  // Makes the directory, locks it, reads or makes the identity. `name`: the configured one, empty for the kept one or
  // else `default_name`. kFailedPrecondition: another worker has it. kPermissionDenied and others: it cannot be
  // written.
  static Result<NodeDir> Open(const std::string& path, const std::string& name, const std::string& default_name);

  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }
  const Uid& uid() const { return uid_; }
  Epoch last_epoch() const { return last_epoch_; }
  std::string launcher_dir() const { return path_ + "/launcher"; }
  std::string shipped_file() const { return path_ + "/shipped"; }
  // Does not wait for the disk: a power cut may bring back the epoch before.
  void SaveEpoch(Epoch epoch);

 private:
  std::string path_, name_;
  Uid uid_;
  Epoch last_epoch_;
  Fd lock_;
};

}  // namespace gt::worker

// All attempts of this node: takes the worker's messages to them. Loop thread only.
#pragma once
#include <functional>
#include <memory>
#include <unordered_map>

#include "worker/launcher/attempt.h"

namespace gt::launcher {

class Attempts {
 public:
  explicit Attempts(AttemptContext* context) : context_(context) {}
  // What the journal and the spool of earlier launchers hold.
  void Restore(const std::map<Uid, JournalEntry>& entries, const std::map<std::pair<Uid, uint32_t>, SpoolWriter::Sizes>& sizes);

  // `answer` gets the State that a message calls for at once, if it does.
  void Handle(const Message& message, const std::function<void(const State&)>& answer);
  void ForEach(const std::function<void(const Attempt&)>& visit) const;
  size_t live() const;  // not ended

 private:
  void OnStart(const Start& start, const std::function<void(const State&)>& answer);
  void OnForget(const Uid& uid);
  Attempt* Find(const Uid& uid, const std::function<void(const State&)>& answer);

  AttemptContext* context_;
  std::unordered_map<Uid, std::unique_ptr<Attempt>> attempts_;
};

}  // namespace gt::launcher

// The output of a job's ranks read to its end, across attempts and restarts of the coordinator, and what follows at the
// end: the final row, what to try next, the exit code.
#pragma once
#include <string>
#include <vector>

#include "cli/log_printer.h"
#include "cli/session.h"
#include "common/base/ids.h"

namespace gt {

struct LogSelection {
  TaskSelector job;
  uint32_t attempt = 0;  // 0: the newest; while following, later ones too
  bool all_attempts = false;
  std::vector<uint32_t> ranks;  // empty: all
  uint64_t tail = 0;            // lines before the end to start at; 0: from the beginning
  bool follow = false;
};

// Prints until the stream's end. While following, a lost coordinator is waited for without end and no line is lost or
// printed twice. kUnavailable with interrupted(): Ctrl-C.
Status PrintLogs(Session* session, Client* client, const LogSelection& selection, LogPrinter* printer);

// Follows a job to its end: its states on a terminal, its output, then the final row and the exit code by outcome.
int FollowJob(Session* session, Client* client, const LogSelection& selection, const LogStyle& style, bool propagate);

// After the end of a job that was waited for: the final row and what to try next, on standard error.
void TellEnd(const Session& session, const gridtrain::v1::JobSummary& job);
// What Ctrl-C means: nothing happens to the job.
int Detach(const Session& session, const std::vector<TaskSelector>& jobs);

// Several ranks are told apart by a prefix, one is not. `kind` is "auto", "always" or "never".
bool WantsPrefix(const std::string& kind, int world_size, const std::vector<uint32_t>& ranks);

}  // namespace gt

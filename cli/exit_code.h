// What gtctl's exit codes mean: a contract with scripts, never changed.
#pragma once
#include "common/base/status.h"
#include "gridtrain/v1/jobs_service.pb.h"

namespace gt {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,  // also: a job that is wrong in itself
  kExitNotFound = 3,
  kExitAuth = 4,
  kExitConflict = 5,  // right request, wrong state
  kExitUnreachable = 6,
  kExitJobFailed = 10,  // 10 to 14: of wait, submit --wait and whatever follows a job to its end
  kExitCancelled = 11,
  kExitLost = 12,  // machines failed more often than the job's budget allows
  kExitTimeLimit = 13,
  kExitStillRunning = 14,
  kExitPropagateFailed = 125,  // with --propagate-exit-code: gtctl itself failed
  kExitInterrupted = 130,
  kExitPipeClosed = 141,
};

int ExitCodeOf(Code code);
// Of a finished job; with `propagate` the job's own where it is known.
int ExitCodeOf(const gridtrain::v1::JobSummary& job, bool propagate);

}  // namespace gt

#include "cli/exit_code.h"

#include "common/base/vocabulary.h"

namespace gt {

int ExitCodeOf(Code code) {
  switch (code) {
    case Code::kOk:
      return kExitOk;
    case Code::kInvalidArgument:
      return kExitUsage;
    case Code::kNotFound:
      return kExitNotFound;
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
      return kExitConflict;
    case Code::kUnauthenticated:
    case Code::kPermissionDenied:
      return kExitAuth;
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
      return kExitUnreachable;
    case Code::kResourceExhausted:
    case Code::kDataLoss:
    case Code::kInternal:
      return kExitFailed;
  }
  return kExitFailed;
}

int ExitCodeOf(const gridtrain::v1::JobSummary& job, bool propagate) {
  using namespace gridtrain::v1;
  if (propagate && job.has_exit_code()) return job.exit_code();
  switch (job.state()) {
    case TASK_SUCCEEDED:
      return kExitOk;
    case TASK_CANCELLED:
      return kExitCancelled;
    case TASK_FAILED: {
      Cause cause = static_cast<Cause>(job.cause());
      if (cause == Cause::kTimeLimit) return kExitTimeLimit;
      return cause != Cause::kNone && BudgetOf(cause) == Budget::kInfra ? kExitLost : kExitJobFailed;
    }
    case TASK_QUEUED:
    case TASK_ACTIVE:
      return kExitStillRunning;
  }
  return kExitJobFailed;
}

}  // namespace gt

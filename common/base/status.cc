#include "common/base/status.h"

#include <cerrno>
#include <cstring>

namespace gt {

const char* CodeName(Code code) {
  switch (code) {
    case Code::kOk: return "OK";
    case Code::kInvalidArgument: return "INVALID_ARGUMENT";
    case Code::kNotFound: return "NOT_FOUND";
    case Code::kAlreadyExists: return "ALREADY_EXISTS";
    case Code::kFailedPrecondition: return "FAILED_PRECONDITION";
    case Code::kUnauthenticated: return "UNAUTHENTICATED";
    case Code::kPermissionDenied: return "PERMISSION_DENIED";
    case Code::kResourceExhausted: return "RESOURCE_EXHAUSTED";
    case Code::kUnavailable: return "UNAVAILABLE";
    case Code::kDeadlineExceeded: return "DEADLINE_EXCEEDED";
    case Code::kDataLoss: return "DATA_LOSS";
    case Code::kInternal: return "INTERNAL";
  }
  return "UNKNOWN";
}

namespace {
Code CodeOfErrno(int error) {
  switch (error) {
    case EAGAIN: case EINTR: case ECONNREFUSED: case ECONNRESET: case EPIPE: return Code::kUnavailable;
    case ENOENT: return Code::kNotFound;
    case EEXIST: return Code::kAlreadyExists;
    case EACCES: case EPERM: case EROFS: return Code::kPermissionDenied;
    case ENOSPC: case EDQUOT: case EMFILE: case ENFILE: case ENOMEM: return Code::kResourceExhausted;
    case ETIMEDOUT: return Code::kDeadlineExceeded;
    case EADDRINUSE: return Code::kFailedPrecondition;
    default: return Code::kInternal;
  }
}
}  // namespace

Status ErrnoStatus(int error, const std::string& what) {
  return Status(CodeOfErrno(error), what + ": " + std::strerror(error));
}

}  // namespace gt

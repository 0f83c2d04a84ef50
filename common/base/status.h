// Status and Result<T>: how every fallible call answers. No exceptions cross a function of ours.
// The codes are those of gRPC that we use, so that the edge converts one to one.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "common/base/assert.h"

namespace gt {

enum class Code {
  kOk,
  kInvalidArgument,     // the request is wrong in itself
  kNotFound,            // no such job, node, file
  kAlreadyExists,
  kFailedPrecondition,  // right request, wrong moment or state
  kUnauthenticated,
  kPermissionDenied,
  kResourceExhausted,   // space, quota, queue bound
  kUnavailable,         // try again; nothing was done
  kDeadlineExceeded,
  kDataLoss,            // what is on disk is torn or corrupt
  kInternal,
};

const char* CodeName(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  // The same status with "context: " before its message; ok stays ok.
  Status WithContext(const std::string& context) const {
    return ok() ? *this : Status(code_, context + ": " + message_);
  }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

inline Status OkStatus() { return {}; }
// kUnavailable for EAGAIN and friends, kNotFound for ENOENT, kPermissionDenied, kResourceExhausted for ENOSPC, else kInternal;
// the message is "<what>: <strerror(error)>".
Status ErrnoStatus(int error, const std::string& what);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                          // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) { GT_ASSERT(!status_.ok()); }  // NOLINT

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { GT_ASSERT(ok()); return *value_; }
  const T& value() const& { GT_ASSERT(ok()); return *value_; }
  T&& value() && { GT_ASSERT(ok()); return *std::move(value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace gt

#define GT_RETURN_IF_ERROR(expression)                   \
  do {                                                   \
    if (::gt::Status gt_status = (expression); !gt_status.ok()) return gt_status; \
  } while (false)
#define GT_CONCAT_INNER(a, b) a##b
#define GT_CONCAT(a, b) GT_CONCAT_INNER(a, b)
// GT_ASSIGN_OR_RETURN(auto x, Foo()); declares x or returns Foo's status.
#define GT_ASSIGN_OR_RETURN(lhs, expression) GT_ASSIGN_OR_RETURN_IMPL(GT_CONCAT(gt_result_, __LINE__), lhs, expression)
#define GT_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expression) \
  auto tmp = (expression);                             \
  if (!tmp.ok()) return tmp.status();                  \
  lhs = std::move(tmp).value()

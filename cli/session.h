// One run of gtctl: its streams, options, the way to the coordinator, and how it reports.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/args.h"
#include "cli/client.h"
#include "cli/exit_code.h"
#include "cli/io.h"
#include "common/text/message_text.h"

namespace gt {

enum class Output { kTable, kWide, kJson, kJsonLines, kName };

constexpr int kSchemaVersion = 1;
constexpr Millis kDefaultTimeout = 10 * kSecond;

class Session {
 public:
  Session(const Io& io, GlobalOptions options, std::vector<std::string> rest);

  const Io& io() const { return io_; }
  const GlobalOptions& options() const { return options_; }
  const std::vector<std::string>& rest() const { return rest_; }  // after "--"
  Output output() const { return output_; }
  bool json() const { return output_ == Output::kJson || output_ == Output::kJsonLines; }
  bool quiet() const { return options_.quiet; }
  Millis timeout() const { return options_.timeout.value_or(default_timeout_); }
  // For requests that take longer by nature. Before client().
  void AllowTime(Millis time) { default_timeout_ = time; }
  TableStyle style() const;

  // The client of the coordinator that the options, the environment and the access files name; made once.
  Result<Client*> client();
  // The one that client() made, for others to interrupt; nullptr before.

  void Out(std::string_view text) const { io_.out(text); }
  void Print(const Json& json) const { io_.out(Dump(json) + "\n"); }
  // To people on standard error; nothing with -q or JSON output.
  void Note(const std::string& line) const;
  // The same, and only where a person looks on.
  void Progress(const std::string& line) const;
  // Reports on standard error, as text or as the JSON object, and answers the exit code. The hint says what to do next.
  int Fail(const Status& status, std::string hint = "") const;
  int Usage(const std::string& message, const std::string& hint = "") const;

  std::string UserName() const;  // the label that jobs carry

  // Where the coordinator is and with which token, as flags, environment and access files say now.
  Result<Access> FindAccess() const;

 private:
  int Report(const char* code, const std::string& message, const std::string& hint, bool retryable,
             int exit_code) const;

  const Io& io_;
  GlobalOptions options_;
  std::vector<std::string> rest_;
  Output output_ = Output::kTable;
  Millis default_timeout_ = kDefaultTimeout;
  std::unique_ptr<Client> client_;
};

class CommandBody {
 public:
  virtual ~CommandBody() = default;
  virtual void Declare(Args* args) = 0;
  virtual int Run(Session* session) = 0;  // the exit code
};

}  // namespace gt

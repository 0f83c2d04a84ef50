#include "cli/session.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdio>

#include "common/base/vocabulary.h"
#include "common/os/file.h"
#include "common/os/net.h"
#include "common/text/text.h"

namespace gt {
namespace {

Output OutputOf(const std::string& name) {
  if (name == "wide") return Output::kWide;
  if (name == "json") return Output::kJson;
  if (name == "jsonl") return Output::kJsonLines;
  if (name == "name") return Output::kName;
  return Output::kTable;
}

std::string Trimmed(std::string text) {
  size_t end = text.find_last_not_of(" \t\r\n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text;
}

std::string JoinedPaths(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += (all.empty() ? "" : ", ") + part;
  return all;
}

// "localhost:1" and "127.0.0.1:1" are the same place.
std::string SamePlace(const std::string& address) {
  Result<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok()) return address;
  return FormatHostPort(parsed->host == "localhost" ? "127.0.0.1" : parsed->host, parsed->port);
}

}  // namespace

Session::Session(const Io& io, GlobalOptions options, std::vector<std::string> rest)
    : io_(io), options_(std::move(options)), rest_(std::move(rest)) {
  output_ = OutputOf(options_.output.value_or(io.Variable("GTCTL_OUTPUT")));
}

TableStyle Session::style() const {
  bool colour =
      io_.out_terminal && !options_.no_color && io_.Variable("NO_COLOR").empty() && io_.Variable("TERM") != "dumb";
  return {.terminal = io_.out_terminal, .colour = colour, .columns = io_.columns};
}

Result<Access> Session::FindAccess() const {
  std::string server = options_.server.value_or(io_.Variable("GTCTL_SERVER"));
  std::string token = io_.Variable("GTCTL_TOKEN");
  if (std::string file = io_.Variable("GTCTL_TOKEN_FILE"); token.empty() && !file.empty()) {
    GT_ASSIGN_OR_RETURN(std::string text, ReadFile(file, 64u << 10));
    token = Trimmed(text);
  }
  if (!server.empty() && !token.empty()) return Access{server, token, "", kProtocolVersion};

  bool chosen = options_.access.has_value() || !io_.Variable("GT_ACCESS").empty();
  auto paths = options_.access ? std::vector<std::string>{*options_.access} : AccessCandidates(io_.environment);
  for (const std::string& path : paths) {
    Result<Access> access = ReadAccess(path);
    if (!access.ok() && access.status().code() == Code::kNotFound && !chosen) continue;
    if (!access.ok() && access.status().code() == Code::kPermissionDenied && !chosen &&
        ::access(path.c_str(), R_OK) != 0)
      continue;
    if (!access.ok()) return access.status();
    if (!token.empty()) access->token = token;
    if (server.empty()) return access;
    // A token goes to the coordinator that it was made for and to no other, unless the user paired them.
    if (!options_.access && SamePlace(server) != SamePlace(access->address)) continue;
    access->address = server;
    return access;
  }
  if (!server.empty()) return Status(Code::kUnauthenticated, "no token for " + Printable(server));
  return Status(Code::kUnavailable,
                "no coordinator is known here; looked for an access file in " + Printable(JoinedPaths(paths)));
}

Result<Client*> Session::client() {
  if (client_) return client_.get();
  Result<Access> access = FindAccess();
  if (!access.ok()) return access.status();
  client_ = std::make_unique<Client>(*access, timeout());
  client_->OnWaiting([this](const Status& why) {
    Progress("waiting for the coordinator at " + Printable(client_->address()) + " (" + why.message() + ")");
  });
  return client_.get();
}

void Session::Note(const std::string& line) const {
  if (!quiet() && !json()) io_.err(line + "\n");
}

void Session::Progress(const std::string& line) const {
  if (io_.err_terminal) Note(line);
}

int Session::Report(const char* code, const std::string& message, const std::string& hint, bool retryable,
                    int exit_code) const {
  if (json()) {
    Json error = {{"code", code},
                  {"message", message},
                  {"hint", hint.empty() ? Json() : Json(hint)},
                  {"retryable", retryable},
                  {"request_id", nullptr}};
    io_.err(Dump(Json{{"schema_version", kSchemaVersion}, {"error", error}}) + "\n");
  } else {
    io_.err("error: " + message + "\n" + (hint.empty() ? "" : "hint: " + hint + "\n"));
  }
  return exit_code;
}

int Session::Usage(const std::string& message, const std::string& hint) const {
  return Report("USAGE", message, hint, false, kExitUsage);
}

int Session::Fail(const Status& status, std::string hint) const {
  std::string message = status.message();
  bool unreachable = status.code() == Code::kUnavailable || status.code() == Code::kDeadlineExceeded;
  if (unreachable && client_) {
    message = "cannot reach the coordinator at " + Printable(client_->address()) + ": " + message;
    if (hint.empty())
      hint =
          "is gt-coordinator running there? On its machine: gt-coordinator --print-config shows where it listens; "
          "another address: --server or --access";
  } else if (unreachable && hint.empty()) {
    hint =
        "start gt-coordinator on this machine, or copy its access file here and name it with --access FILE or "
        "$GT_ACCESS";
  }
  if (status.code() == Code::kUnauthenticated && hint.empty())
    hint =
        "the token comes from the coordinator's access file: --access FILE, $GT_ACCESS, $GTCTL_TOKEN_FILE or "
        "$GTCTL_TOKEN";
  return Report(CodeName(status.code()), message, hint, unreachable, ExitCodeOf(status.code()));
}

std::string Session::UserName() const {
  for (const char* name : {"USER", "LOGNAME"})
    if (std::string user = io_.Variable(name); !user.empty()) return user;
  std::unique_ptr<FILE, int (*)(FILE*)> users(std::fopen("/etc/passwd", "re"), std::fclose);
  while (users) {
    const passwd* entry = ::fgetpwent(users.get());
    if (!entry) break;
    if (entry->pw_uid == ::geteuid()) return entry->pw_name;
  }
  return std::to_string(::geteuid());
}

}  // namespace gt

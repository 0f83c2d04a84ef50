// The command line: what a command takes, declared in a few words; the parser behind it stays in args.cc.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/time.h"

namespace gt {

// Values are read into what the pointers name; those must outlive the parsing. `names` as "-f,--follow".
class Args {
 public:
  virtual ~Args() = default;
  virtual void Flag(const std::string& names, bool* value, const std::string& help) = 0;
  virtual void Text(const std::string& names, std::optional<std::string>* value, const std::string& kind,
                    const std::string& help) = 0;
  virtual void Texts(const std::string& names, std::vector<std::string>* values, const std::string& kind,
                     const std::string& help) = 0;
  virtual void Number(const std::string& names, std::optional<uint64_t>* value, const std::string& help) = 0;
  virtual void Duration(const std::string& names, std::optional<Millis>* value, const std::string& help) = 0;
  virtual void Choice(const std::string& names, std::optional<std::string>* value, std::vector<std::string> choices,
                      const std::string& help) = 0;
  virtual void Words(const std::string& name, std::vector<std::string>* words, size_t least, size_t most,
                     const std::string& help) = 0;
};

// What every command takes, before or after its name.
struct GlobalOptions {
  std::optional<std::string> server;
  std::optional<std::string> access;
  std::optional<std::string> output;  // table, wide, json, jsonl, name
  std::optional<Millis> timeout;      // of one request
  bool quiet = false;
  bool no_color = false;
};

class CommandBody;
struct CommandInfo {
  const char* name;
  const char* usage;     // what follows the name
  const char* summary;   // one line
  const char* examples;  // three, one a line
  std::unique_ptr<CommandBody> (*make)();
  bool takes_rest = false;  // words after "--"
};
const std::vector<CommandInfo>& Commands();

// The outcome of parsing: a command to run, or what to print and how to exit.
struct ParsedCommand {
  std::unique_ptr<CommandBody> body;  // nullptr: print and leave
  GlobalOptions options;
  std::vector<std::string> rest;  // what stands after "--"
  int exit_code = 0;
  std::string text;  // help, for standard output when exit_code is 0; else what was wrong
  std::string hint;
};
ParsedCommand ParseCommandLine(const std::vector<std::string>& arguments);

// Every option of a command and the global ones, "--name" and "-n", for completion.
std::vector<std::string> OptionNames(const CommandInfo& command);

}  // namespace gt

#include "cli/args.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "cli/exit_code.h"
#include "cli/session.h"
#include "common/base/units.h"
#include "common/text/text.h"

namespace gt {
namespace {

// Parses through our own units, so that "15m" means the same everywhere.
std::string ReadDuration(const std::string& text, std::optional<Millis>* value) {
  Result<Millis> parsed = ParseDuration(text);
  if (!parsed.ok()) return parsed.status().message();
  *value = *parsed;
  return "";
}

class CliArgs : public Args {
 public:
  explicit CliArgs(CLI::App* app) : app_(app) {}

  void Flag(const std::string& names, bool* value, const std::string& help) override {
    app_->add_flag(names, *value, help);
  }
  void Text(const std::string& names, std::optional<std::string>* value, const std::string& kind,
            const std::string& help) override {
    app_->add_option(names, *value, help)->type_name(kind);
  }
  void Texts(const std::string& names, std::vector<std::string>* values, const std::string& kind,
             const std::string& help) override {
    app_->add_option(names, *values, help)
        ->type_name(kind)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  void Number(const std::string& names, std::optional<uint64_t>* value, const std::string& help) override {
    auto read = [value](const std::string& text) {  // CLI11 would take "-4" for 2^64 - 4
      uint64_t number = 0;
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc() || end != text.data() + text.size())
        throw CLI::ValidationError("\"" + Printable(text) + "\" is not a whole number from 0 on");
      *value = number;
    };
    app_->add_option_function<std::string>(names, read, help)->type_name("N");
  }
  void Duration(const std::string& names, std::optional<Millis>* value, const std::string& help) override {
    auto read = [value](const std::string& text) {
      std::string problem = ReadDuration(text, value);
      if (!problem.empty()) throw CLI::ValidationError(problem);
    };
    app_->add_option_function<std::string>(names, read, help)->type_name("DURATION");
  }
  void Choice(const std::string& names, std::optional<std::string>* value, std::vector<std::string> choices,
              const std::string& help) override {
    std::string kinds;
    for (const std::string& choice : choices) kinds += (kinds.empty() ? "" : "|") + choice;
    app_->add_option(names, *value, help)->type_name(kinds)->check([choices, kinds](const std::string& text) {
      bool known = std::find(choices.begin(), choices.end(), text) != choices.end();
      return known ? std::string() : "\"" + Printable(text) + "\" is not one of " + kinds;
    });
  }
  void Words(const std::string& name, std::vector<std::string>* words, size_t least, size_t most,
             const std::string& help) override {
    CLI::Option* option = app_->add_option(name, *words, help)->type_name("");
    option->expected(static_cast<int>(least), most == 0 ? 1 << 20 : static_cast<int>(most));
    if (least > 0) option->required();
  }

 private:
  CLI::App* app_;
};

// `wait --timeout` is a wait for jobs, so there the wait for an answer has only its longer name.
void DeclareGlobals(Args* args, GlobalOptions* options, bool own_timeout) {
  args->Text("--server", &options->server, "ADDR",
             "address of the coordinator; default: from the access file or $GTCTL_SERVER");
  args->Text("--access", &options->access, "FILE",
             "access file of the coordinator; default: $GT_ACCESS, then the usual places");
  args->Choice("-o,--output", &options->output, {"table", "wide", "json", "jsonl", "name"},
               "form of the output; default: table or $GTCTL_OUTPUT");
  args->Duration(own_timeout ? "--request-timeout" : "--timeout,--request-timeout", &options->timeout,
                 "longest wait for an answer of the coordinator; default: 10s");
  args->Flag("-q,--quiet", &options->quiet, "print only the result");
  args->Flag("--no-color", &options->no_color, "no colours; so does $NO_COLOR");
}

bool TakesValue(const std::string& option) {
  for (const char* name : {"--server", "--access", "-o", "--output", "--timeout", "--request-timeout"})
    if (option == name) return true;
  return false;
}

// The first word that is no option and no value of one: the command's name.
size_t FindCommand(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].empty() || arguments[i][0] != '-') return i;
    if (TakesValue(arguments[i])) ++i;
  }
  return arguments.size();
}

std::string Overview() {
  std::string text =
      "gtctl: submit, follow and explain GridTrain jobs\n\nUsage: gtctl [OPTIONS] COMMAND ...\n\nCommands:\n";
  for (const CommandInfo& command : Commands()) {
    std::string name = command.name;
    text += "  " + name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + command.summary + "\n";
  }
  text += "\nExamples:\n  gtctl submit --nodes 2 --gpus-per-node 8 job.yaml\n  gtctl logs 42 -f\n  gtctl explain 42\n";
  return text + "\nAll about one command: gtctl COMMAND --help\n";
}

std::string WithOneEnd(std::string text) {
  while (text.ends_with("\n")) text.pop_back();
  return text + "\n";
}

ParsedCommand Leave(int exit_code, std::string text, std::string hint = "") {
  ParsedCommand parsed;
  parsed.exit_code = exit_code;
  parsed.text = std::move(text);
  parsed.hint = std::move(hint);
  return parsed;
}

ParsedCommand NoCommand(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments)
    if (argument == "-h" || argument == "--help")
      return Leave(kExitOk, Overview());
    else if (argument == "--version")
      return Leave(kExitOk, "gtctl " GT_VERSION "\n");
  return Leave(kExitUsage, "a command is missing", "gtctl --help lists them");
}

const CommandInfo* CommandByName(const std::string& name) {
  for (const CommandInfo& command : Commands())
    if (name == command.name) return &command;
  return nullptr;
}

ParsedCommand UnknownCommand(const std::string& name) {
  std::vector<std::string> names;
  for (const CommandInfo& command : Commands()) names.push_back(command.name);
  std::string near = name.size() > 100 ? "" : Nearest(name, names);
  return Leave(kExitUsage,
               "no command \"" + Printable(name) + "\"" + (near.empty() ? "" : "; did you mean \"" + near + "\"?"),
               "gtctl --help lists them");
}

class Help : public CLI::Formatter {
 public:
  explicit Help(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override { return usage_; }
  std::string make_positionals(const CLI::App* app) const override {
    std::string text = "\nArguments:\n";
    bool any = false;
    for (const CLI::Option* option : app->get_options([](const CLI::Option* o) { return o->get_positional(); })) {
      text += "  " + option->get_name(true) + "  " + option->get_description() + "\n";
      any = true;
    }
    return any ? text : "";
  }

 private:
  std::string usage_;
};

// Setting up a parser costs time: only the command that was asked for is declared.
std::unique_ptr<CLI::App> MakeParser(const CommandInfo& command, CommandBody* body, GlobalOptions* options) {
  auto app = std::make_unique<CLI::App>(command.summary, std::string("gtctl ") + command.name);
  CliArgs args(app.get());
  body->Declare(&args);
  DeclareGlobals(&args, options, app->get_option_no_throw("--timeout") != nullptr);
  app->formatter(std::make_shared<Help>(std::string("Usage: gtctl ") + command.name + " " + command.usage + "\n"));
  app->footer(std::string("Examples:\n") + command.examples);
  return app;
}

// Of a line that cannot be parsed as a whole: in which form its error is to be shown.
std::optional<std::string> WantedOutput(const std::vector<std::string>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    if ((words[i] == "-o" || words[i] == "--output") && i + 1 < words.size()) return words[i + 1];
    for (std::string_view prefix : {"--output=", "-o"})
      if (words[i].starts_with(prefix) && words[i].size() > prefix.size()) return words[i].substr(prefix.size());
  }
  return std::nullopt;
}

ParsedCommand ParseWords(const std::vector<std::string>& arguments) {
  auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  std::vector<std::string> words(arguments.begin(), dashes);
  size_t at = FindCommand(words);
  if (at == words.size()) return NoCommand(words);
  const CommandInfo* command = CommandByName(words[at]);
  if (!command) return UnknownCommand(words[at]);
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));

  ParsedCommand parsed;
  parsed.body = command->make();
  if (dashes != arguments.end()) parsed.rest.assign(dashes + 1, arguments.end());
  if (dashes != arguments.end() && parsed.rest.empty()) return Leave(kExitUsage, "nothing stands after --");
  if (!parsed.rest.empty() && !command->takes_rest)
    return Leave(kExitUsage, "only submit takes a command after --", std::string("gtctl ") + command->name + " --help");
  auto app = MakeParser(*command, parsed.body.get(), &parsed.options);
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    app->parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    return Leave(kExitOk, WithOneEnd(app->help()));
  } catch (const CLI::Error& e) {
    return Leave(kExitUsage, Printable(e.what()), std::string("gtctl ") + command->name + " --help");
  }
  return parsed;
}

}  // namespace

ParsedCommand ParseCommandLine(const std::vector<std::string>& arguments) {
  ParsedCommand parsed = ParseWords(arguments);
  if (parsed.body == nullptr) parsed.options.output = WantedOutput(arguments);
  return parsed;
}

std::vector<std::string> OptionNames(const CommandInfo& command) {
  GlobalOptions options;
  auto body = command.make();
  auto app = MakeParser(command, body.get(), &options);
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace gt

// gtctl completion: scripts for shells, made from the commands themselves, so that they are never out of date.
#include "cli/commands.h"

namespace gt {
namespace {

std::string JoinedWords(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

std::string CommandNames() {
  std::string all;
  for (const CommandInfo& command : Commands()) all += (all.empty() ? "" : " ") + std::string(command.name);
  return all;
}

// Whether the words after the command are ids of jobs.
bool TakesIds(const std::string& command) {
  for (const char* name : {"status", "logs", "events", "explain", "wait", "cancel"})
    if (command == name) return true;
  return false;
}

std::string ExtraWords(const std::string& command) {
  if (command == "nodes") return "list drain undrain";
  if (command == "server") return "status backup check";
  if (command == "completion") return "bash zsh fish";
  return "";
}

std::string Bash() {
  std::string script =
      "_gtctl() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" command= i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"${COMP_WORDS[i]}\" in\n"
      "      --server|--access|--timeout|--output|-o) ((i++)) ;;\n"
      "      -*) ;;\n"
      "      *) command=\"${COMP_WORDS[i]}\"; break ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$command\" in\n"
      "    '') COMPREPLY=($(compgen -W '" +
      CommandNames() + "' -- \"$word\")) ;;\n";
  for (const CommandInfo& command : Commands()) {
    std::string name = command.name, extra = ExtraWords(name);
    script += "    " + name + ")\n      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '" +
              JoinedWords(OptionNames(command)) + "' -- \"$word\"))\n";
    if (TakesIds(name))
      script +=
          "      else COMPREPLY=($(compgen -W \"@last $(gtctl list -o name --timeout 1s 2>/dev/null)\" -- "
          "\"$word\"))\n";
    else if (!extra.empty())
      script += "      else COMPREPLY=($(compgen -W '" + extra + "' -- \"$word\"))\n";
    else
      script += "      else COMPREPLY=($(compgen -f -- \"$word\"))\n";
    script += "      fi ;;\n";
  }
  return script + "  esac\n}\ncomplete -o filenames -F _gtctl gtctl\n";
}

std::string Fish() {
  std::string script = "complete -c gtctl -f\n";
  for (const CommandInfo& command : Commands()) {
    std::string name = command.name, seen = "'__fish_seen_subcommand_from " + name + "'";
    script += "complete -c gtctl -n __fish_use_subcommand -a " + name + " -d '" + command.summary + "'\n";
    for (const std::string& option : OptionNames(command))
      script += "complete -c gtctl -n " + seen +
                (option.starts_with("--") ? " -l " + option.substr(2) : " -s " + option.substr(1)) + "\n";
    if (TakesIds(name))
      script += "complete -c gtctl -n " + seen + " -a '@last (gtctl list -o name --timeout 1s 2>/dev/null)'\n";
    if (std::string extra = ExtraWords(name); !extra.empty())
      script += "complete -c gtctl -n " + seen + " -a '" + extra + "'\n";
    if (name == "submit") script += "complete -c gtctl -n " + seen + " -F\n";
  }
  return script;
}

class CompletionCommand : public CommandBody {
 public:
  void Declare(Args* args) override { args->Words("SHELL", &shell_, 1, 1, "bash, zsh or fish"); }

  int Run(Session* session) override {
    if (shell_[0] == "bash")
      session->Out(Bash());
    else if (shell_[0] == "zsh")
      session->Out("#compdef gtctl\nautoload -U +X bashcompinit && bashcompinit\n" + Bash());
    else if (shell_[0] == "fish")
      session->Out(Fish());
    else
      return session->Usage("no completion for this shell", "bash, zsh or fish");
    return kExitOk;
  }

 private:
  std::vector<std::string> shell_;
};

}  // namespace

std::unique_ptr<CommandBody> MakeCompletion() { return std::make_unique<CompletionCommand>(); }

}  // namespace gt

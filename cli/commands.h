// One maker a command; each lives in the file of its name.
#pragma once
#include <memory>

#include "cli/session.h"

namespace gt {

std::unique_ptr<CommandBody> MakeSubmit();
std::unique_ptr<CommandBody> MakeList();
std::unique_ptr<CommandBody> MakeStatus();
std::unique_ptr<CommandBody> MakeLogs();
std::unique_ptr<CommandBody> MakeEvents();
std::unique_ptr<CommandBody> MakeExplain();
std::unique_ptr<CommandBody> MakeWait();
std::unique_ptr<CommandBody> MakeCancel();
std::unique_ptr<CommandBody> MakeNodes();
std::unique_ptr<CommandBody> MakeServer();
std::unique_ptr<CommandBody> MakeVersion();
std::unique_ptr<CommandBody> MakeCompletion();

}  // namespace gt

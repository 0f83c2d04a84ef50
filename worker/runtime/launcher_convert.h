// Between the launcher's protocol and the agent's plain structs, and the lines that ranks say.
#pragma once
#include <optional>
#include <string_view>

#include "worker/core/agent.h"
#include "worker/launcher/protocol.h"

namespace gt::worker {

launcher::Start ToLauncher(const LauncherStart& start);
launcher::Stop ToLauncher(const StopAttempt& stop);
// `node_address`: where a held port is reached.
LauncherState FromLauncher(launcher::State state, const std::string& node_address);

// A line of the rank contract; nullopt for types that the coordinator is not told of and for what is not such a line.
// Ranks are the user's code: sizes are cut (64 metrics; names, phases and paths at 4 KiB), wrong types count as absent.
std::optional<RankSaid> ParseRankLine(const Uid& uid, std::string_view line);

}  // namespace gt::worker

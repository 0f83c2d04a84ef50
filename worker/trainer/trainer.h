// gt-trainer as one call: reads the spec and the environment, joins the ranks, trains, leaves.
#pragma once
#include <string>

namespace gt::trainer {

// Returns the exit code: 0 trained, 75 checkpointed because somebody wants this rank gone, 1 failed (one line on
// stderr, and a `failure` to the launcher), 143 stopped by the launcher before the end. Call BlockStopSignals before
// any thread starts.
int RunTrainer(const std::string& spec_path);

}  // namespace gt::trainer

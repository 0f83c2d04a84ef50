// The whole of gtctl but the process around it.
#pragma once
#include <string>
#include <vector>

#include "cli/io.h"

namespace gt {

// Runs one command line (without the program's name) and answers the exit code.
int RunGtctl(const std::vector<std::string>& arguments, const Io& io);

}  // namespace gt

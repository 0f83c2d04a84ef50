// The precompiled header of the files that touch LibTorch: its headers cost 15 to 25 s each time, and once is enough.
// Files still name what they use. Nothing of ours is included here.
#pragma once
#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

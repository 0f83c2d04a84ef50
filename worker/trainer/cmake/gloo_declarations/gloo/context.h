// Declarations that c10d's ProcessGroupGloo.hpp needs to compile. Nothing of ours constructs or derives from these
// types: a vtable of theirs in our binary would not match the library's (a test checks that there is none).
#pragma once
#include <chrono>
#include <memory>

namespace gloo {
namespace transport {
class Device;
class UnboundBuffer;
}  // namespace transport
class Context {
 public:
  void setTimeout(std::chrono::milliseconds);
  std::shared_ptr<transport::Device>& getDevice();
};
}  // namespace gloo

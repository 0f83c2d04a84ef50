#pragma once
#include <gloo/context.h>

namespace gloo::transport {
class UnboundBuffer {
 public:
  virtual ~UnboundBuffer();
};
}  // namespace gloo::transport

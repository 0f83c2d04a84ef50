#include "common/os/pacer.h"

#include <thread>

namespace gt {

void Pacer::Turn() {
  Clock::duration delay = Delay(Clock::now());
  if (delay > Clock::duration::zero()) std::this_thread::sleep_for(delay);
}

}  // namespace gt

#include "worker/trainer/collective/builder.h"

#include <atomic>
#include <thread>

namespace gt::trainer {
namespace {

constexpr Millis kBuildPatience = 3 * kMinute;

struct Site {
  std::atomic<bool> done{false};
  Result<std::shared_ptr<Group>> group = Status(Code::kUnavailable, "not built");  // read after done
};

}  // namespace

Result<std::shared_ptr<Group>> GroupBuilder::Build(const Rendezvous& rendezvous) {
  auto site = std::make_shared<Site>();
  std::thread([site, rendezvous, control = control_, env = env_, cuda = cuda_] {
    auto overtaken = [control, &rendezvous] { return control->NewerThan(rendezvous.generation) || control->stopped(); };
    Status thrown = CatchTorch([&] { site->group = FormGroup(rendezvous, *env, cuda, overtaken); });
    if (!thrown.ok()) site->group = thrown;
    site->done = true;
    control->Notify();
  }).detach();
  Control::Event event = control_->Wait(
      rendezvous.generation, kBuildPatience, [&] { return site->done.load(); }, /*preempt_counts=*/false);
  if (event != Control::Event::kDone)
    return Status(Code::kUnavailable,
                  event == Control::Event::kTimeout ? "the group did not form in time" : "overtaken");
  if (!site->group.ok()) return site->group.status();
  std::shared_ptr<Group> group = std::move(site->group).value();
  control_->SetGroup(rendezvous.generation, group);
  return group;
}

void GroupBuilder::Reap(std::shared_ptr<Group> group) {
  control_->ClearGroup();
  group->Abort("the group is being dropped");
  std::thread([last = std::move(group)]() mutable { last.reset(); }).detach();
}

}  // namespace gt::trainer

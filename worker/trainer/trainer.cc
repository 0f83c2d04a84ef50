#include "worker/trainer/trainer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cstdio>

#include "common/base/vocabulary.h"
#include "worker/trainer/checkpoint/snapshot.h"
#include "worker/trainer/collective/store.h"
#include "worker/trainer/contract/control.h"
#include "worker/trainer/ddp/diagnosis.h"
#include "worker/trainer/elastic/loop.h"

namespace gt::trainer {
namespace {

constexpr int kExitFailed = 1, kExitStopped = 143;

// A status with the word that says what it is about: data, config, checkpoint, collective, device, memory, internal.
struct Failure {
  Status status;
  const char* kind = "internal";
};

int Report(Control* control, const Failure& failure) {
  std::fprintf(stderr, "gt-trainer: %s\n", failure.status.message().c_str());
  if (control) {
    control->Send(EncodeFailure(failure.status.message(), failure.kind));
    control->Drain();
  }
  return kExitFailed;
}

// Sets *failure and returns false when the result is an error.
template <typename T, typename Out>
bool Take(Result<T> result, const char* kind, Out* out, Failure* failure) {
  if (result.ok()) *out = std::move(result).value();
  else *failure = {result.status(), kind};
  return result.ok();
}

// What a rank trains with. Members are made in this order and dropped never: the process leaves by _exit.
struct Workshop {
  Spec spec;
  DataSets data;
  CudaPlugin* cuda = nullptr;
  at::Device device = at::kCPU;
  std::unique_ptr<Precision> precision;
  std::unique_ptr<TrainState> state;
  std::unique_ptr<Stepper> stepper;
  std::vector<int64_t> ready_order;
};

// A rank that cannot find the checkpoint may still be healed by one that can: it goes on without a state.
Status Resume(const Environment& env, const Spec& spec, TrainState* state) {
  if (env.resume_from.empty()) return OkStatus();
  Result<Manifest> manifest = LoadCheckpoint(env.resume_from, state);
  if (manifest.ok()) {
    if (manifest->seed != spec.seed) std::printf("the checkpoint has another seed: the order of samples changes\n");
    std::printf("resuming from %s at step %lld\n", env.resume_from.c_str(), static_cast<long long>(manifest->step));
    return OkStatus();
  }
  if (manifest.status().code() != Code::kNotFound) return manifest.status();
  std::printf("%s; waiting for a rank that has it\n", manifest.status().message().c_str());
  state->counters.step = -1;
  return OkStatus();
}

bool WarmUp(Workshop* shop, Failure* failure) {
  Result<std::vector<int64_t>> order = std::vector<int64_t>();
  Status status = CatchTorch([&] { order = shop->stepper->WarmUp(); });
  if (!status.ok()) {
    *failure = {ExplainFailure(shop->spec, 0, ReadProcessMemory(), status), "internal"};
    return false;
  }
  return Take(std::move(order), "data", &shop->ready_order, failure);
}

bool Equip(const std::string& spec_path, const Environment& env, Workshop* shop, Failure* failure) {
  if (!Take(ReadSpec(spec_path), "config", &shop->spec, failure)) return false;
  const Spec& spec = shop->spec;
  if (env.wants_gpu) {
    if (!Take(OpenCudaPlugin(), "device", &shop->cuda, failure)) return false;
    if (!Take(shop->cuda->SelectDevice(env.local_rank), "device", &shop->device, failure)) return false;
  }
  if (!Take(MakePrecision(spec.precision), "config", &shop->precision, failure)) return false;
  if (!Take(OpenData(spec), "data", &shop->data, failure)) return false;
  const Dataset& train = *shop->data.train;
  std::unique_ptr<Model> model;
  if (!Take(MakeModel(spec.model, train.shape(), train.classes(), spec.seed), "config", &model, failure)) return false;
  if (!Take(TrainState::Make(std::move(model), spec.optimizer, shop->device), "config", &shop->state, failure))
    return false;
  if (shop->precision->scales_loss() || spec.on_nan == "skip") shop->state->AddScaler();
  *failure = {Resume(env, spec, shop->state.get()), "checkpoint"};
  if (!failure->status.ok()) return false;
  shop->stepper =
      std::make_unique<Stepper>(&shop->spec, &shop->data, shop->state.get(), shop->precision.get(), shop->device);
  return WarmUp(shop, failure);
}

const char* KindOf(const Status& status) {
  switch (status.code()) {
    case Code::kUnavailable: return "collective";
    case Code::kNotFound: return "checkpoint";
    case Code::kDataLoss: return "data";
    case Code::kResourceExhausted: return "memory";
    case Code::kInvalidArgument: return "config";
    default: return "internal";
  }
}

void SetUpThreads(const Environment& env) {
  // One thread per rank unless told otherwise: ranks share the cores of their host.
  if (!env.threads_given && (env.world_size > 1 || !env.socket.empty())) at::set_num_threads(1);
  // Gradients of dark pixels decay into denormals, which cost a hundred times as much as zeros.
  at::globalContext().setFlushDenormal(true);
}

}  // namespace

int RunTrainer(const std::string& spec_path) {
  Result<Environment> env = ReadProcessEnvironment();
  if (!env.ok()) return Report(nullptr, {env.status(), "config"});
  SetUpThreads(*env);

  OwnStore own;
  Failure failure;
  if (!env->socket.empty() && !Take(ServeOwnStore(env->node_address), "collective", &own, &failure))
    return Report(nullptr, failure);
  std::unique_ptr<Control> control;
  if (!Take(Control::Start(*env, own.address, own.port), "internal", &control, &failure))
    return Report(nullptr, failure);
  // The launcher knows of this rank from here on; the group's other ranks come while this one equips itself.
  auto* shop = new Workshop;  // never dropped: dead groups' threads may outlive this function
  int code = kExitFailed;
  if (!Equip(spec_path, *env, shop, &failure)) {
    code = Report(control.get(), failure);
  } else {
    auto* loop = new TrainingLoop({.spec = &shop->spec,
                                   .env = new Environment(*env),
                                   .control = control.get(),
                                   .data = &shop->data,
                                   .state = shop->state.get(),
                                   .stepper = shop->stepper.get(),
                                   .cuda = shop->cuda,
                                   .ready_order = shop->ready_order});
    Result<Leave> leave = loop->Run();
    if (!leave.ok()) code = Report(control.get(), {leave.status(), KindOf(leave.status())});
    else code = *leave == Leave::kFinished ? 0 : *leave == Leave::kPreempted ? kExitRunAgain : kExitStopped;
  }
  control->Drain();
  control.release();  // its thread, and builders that wait on it, end with the process
  return code;
}

}  // namespace gt::trainer

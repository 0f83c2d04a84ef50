#include <algorithm>

#include "common/text/job_check.h"
#include "common/text/message_text.h"
#include "common/text/text.h"
#include "coordinator/service/convert.h"

namespace gt {
namespace {

constexpr size_t kMinKey = 16, kMaxKey = 64, kMaxOwner = 200;

// SPEC.json as gt-trainer reads it. How a rank computes is in there; where it runs and writes goes by other ways.
std::string TrainerSpec(const wire::TrainSpec& train) {
  wire::TrainSpec spec = train;
  spec.clear_threads();
  if (spec.has_checkpoint()) spec.mutable_checkpoint()->clear_dir();
  return Dump(ToJson(spec));
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

Shape ConvertShape(const wire::JobSpec& spec, const JobShape& derived) {
  Shape shape;
  shape.nodes = derived.nodes;
  shape.cpus = derived.cpus_per_node;
  shape.memory = derived.memory_per_node;
  shape.gpus = derived.gpus_per_node;
  for (const std::string& model : spec.resources().gpu().model()) shape.gpu_models.push_back(Lower(model));
  std::sort(shape.gpu_models.begin(), shape.gpu_models.end());
  shape.gpu_memory = spec.resources().gpu().memory();
  return shape;
}

}  // namespace

std::vector<std::string> CheckSubmit(const wire::SubmitRequest::One& one) {
  std::vector<std::string> problems;
  const std::string& key = one.client_key();
  bool key_ok = key.size() >= kMinKey && key.size() <= kMaxKey &&
                std::all_of(key.begin(), key.end(), [](unsigned char c) { return c > ' ' && c < 0x7F; });
  if (!key_ok) problems.push_back("client_key: must be 16 to 64 printable ASCII characters");
  if (!one.has_spec()) problems.push_back("spec: is missing");
  for (const FieldProblem& problem : CheckJob(one.spec()))
    problems.push_back(problem.path.empty() ? problem.message : problem.path + ": " + problem.message);
  return problems;
}

Job ConvertJob(const wire::SubmitRequest::One& one, const std::string& owner, Millis submitted_wall) {
  const wire::JobSpec& spec = one.spec();
  JobShape derived = ShapeOf(spec);
  Job job;
  job.client_key = one.client_key();
  job.name = spec.name();
  job.owner = Clean(owner, kMaxOwner);
  job.spec = spec.SerializeAsString();
  job.shape = ConvertShape(spec, derived);
  job.priority = spec.priority();
  job.array = derived.array;
  job.range = {derived.indices.first, derived.indices.last};
  job.ranks_per_node = derived.ranks_per_node;
  job.contract = spec.has_train();
  job.retry = {spec.retry().user(), spec.retry().infra()};
  job.grace = spec.grace();
  if (spec.on_disconnect().action() == wire::STOP_AFTER) job.stop_after = spec.on_disconnect().stop_after();
  job.submitted_wall = submitted_wall;
  return job;
}

Result<wire::JobLaunch> ConvertLaunch(const Job& job, const Policy& policy) {
  wire::JobSpec spec;
  if (!spec.ParseFromString(job.spec)) return Status(Code::kDataLoss, "the stored spec of job " + std::to_string(job.id.value) + " cannot be read");
  wire::JobLaunch launch;
  launch.set_job_id(job.id.value);
  if (spec.has_train()) {
    launch.add_argv("{trainer}");
    launch.add_argv("{spec}");
    launch.set_spec_json(TrainerSpec(spec.train()));
    launch.set_checkpoint_dir(spec.train().checkpoint().dir());
    if (spec.train().has_threads()) (*launch.mutable_env())["OMP_NUM_THREADS"] = std::to_string(spec.train().threads());
  } else {
    *launch.mutable_argv() = spec.run().command();
    *launch.mutable_env() = spec.run().env();
    launch.set_workdir(spec.run().workdir());
  }
  launch.set_contract(job.contract);
  launch.set_processes_per_node(job.ranks_per_node);
  launch.set_cpus_per_process(spec.resources().cpus_per_process());
  launch.set_memory_limit(job.shape.memory);
  launch.set_time_limit_ms(spec.time_limit());
  launch.set_grace_ms(job.grace);
  launch.set_fail_grace_ms(policy.fail_grace);
  launch.set_stop_after_ms(job.stop_after);
  if (job.contract) launch.set_reform_timeout_ms(policy.reform_timeout);
  launch.set_array(job.array);
  launch.set_max_restarts(job.retry.user);
  launch.set_gpus_per_node(job.shape.gpus);
  return launch;
}

}  // namespace gt

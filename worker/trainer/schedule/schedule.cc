#include "worker/trainer/schedule/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

namespace gt::trainer {
namespace {

double Constant(const OptimizerSpec& optimizer, const StepSpan&) { return optimizer.learning_rate; }

double Step(const OptimizerSpec& optimizer, const StepSpan& step) {
  int64_t falls = step.before / optimizer.schedule.step_samples;
  return optimizer.learning_rate * std::pow(optimizer.schedule.gamma, static_cast<double>(falls));
}

double Cosine(const OptimizerSpec& optimizer, const StepSpan& step) {
  int64_t length = std::max<int64_t>(step.total - optimizer.schedule.warmup_samples, 1);
  int64_t at = std::clamp<int64_t>(step.before - optimizer.schedule.warmup_samples, 0, length);
  double share = static_cast<double>(at) / static_cast<double>(length);
  double least = std::min(optimizer.schedule.min_lr, optimizer.learning_rate);
  return least + (optimizer.learning_rate - least) * 0.5 * (1 + std::cos(std::numbers::pi * share));
}

struct Entry {
  std::string_view name;
  double (*rate)(const OptimizerSpec&, const StepSpan&);
};
constexpr Entry kSchedules[] = {{"constant", Constant}, {"step", Step}, {"cosine", Cosine}};

const Entry* Find(const std::string& name) {
  for (const Entry& entry : kSchedules)
    if (entry.name == name) return &entry;
  return nullptr;
}

}  // namespace

Status CheckSchedule(const OptimizerSpec& optimizer) {
  const ScheduleSpec& schedule = optimizer.schedule;
  if (!Find(schedule.name)) {
    std::string names;
    for (const Entry& entry : kSchedules) names += (names.empty() ? "" : ", ") + std::string(entry.name);
    return Status(Code::kInvalidArgument,
                  "optimizer.schedule.name '" + schedule.name + "' is not supported; there are: " + names);
  }
  if (schedule.name == "step" && schedule.step_samples < 1)
    return Status(Code::kInvalidArgument, "optimizer.schedule.step_samples is missing, which step needs");
  return OkStatus();
}

double LearningRate(const OptimizerSpec& optimizer, const StepSpan& step) {
  const Entry* entry = Find(optimizer.schedule.name);
  GT_ASSERT(entry);
  double rate = entry->rate(optimizer, step);
  if (int64_t warmup = optimizer.schedule.warmup_samples; step.after < warmup)
    rate *= static_cast<double>(step.after) / static_cast<double>(warmup);
  return rate;
}

}  // namespace gt::trainer

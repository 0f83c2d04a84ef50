#include "common/text/job_check_train.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/units.h"
#include "common/text/text.h"

namespace gt {
namespace {

using gridtrain::v1::ModelSpec;
using gridtrain::v1::OptimizerSpec;
using gridtrain::v1::TrainSpec;

constexpr std::array<std::string_view, 4> kModels = {"simple_cnn", "mlp", "resnet18", "gpt"};
constexpr std::array<std::string_view, 4> kFormats = {"idx", "tokens", "synthetic", "synthetic_tokens"};
constexpr std::array<std::string_view, 3> kOptimizers = {"adam", "adamw", "sgd"};
constexpr std::array<std::string_view, 3> kSchedules = {"constant", "step", "cosine"};

using Problems = std::vector<FieldProblem>;

template <typename Names>
void CheckName(const std::string& path, const std::string& value, const char* what, const Names& names,
               Problems* problems) {
  if (std::find(names.begin(), names.end(), value) != names.end()) return;
  std::string near = value.size() > 100 ? "" : Nearest(value, names), all;
  for (std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  problems->push_back({path, "no " + std::string(what) + " \"" + Printable(value) + "\"" +
                                 (near.empty() ? "" : "; did you mean \"" + near + "\"?") + " (there is: " + all +
                                 ")"});
}

// A setting of one model, optimizer or format that another was given.
void Refuse(bool given, const std::string& path, const std::string& to, const std::string& advice,
            Problems* problems) {
  if (given) problems->push_back({path, "means nothing to " + Printable(to) + "; " + advice});
}

void CheckModel(const ModelSpec& model, Problems* problems) {
  const std::string& name = model.name();
  CheckName("train.model.name", name, "model", kModels, problems);
  bool gpt = name == "gpt";
  if (name != "mlp") Refuse(model.has_hidden(), "train.model.hidden", name, "it is the width of mlp", problems);
  if (!gpt) {
    Refuse(model.has_layers(), "train.model.layers", name, "it is for gpt", problems);
    Refuse(model.has_heads(), "train.model.heads", name, "it is for gpt", problems);
    Refuse(model.has_width(), "train.model.width", name, "it is for gpt", problems);
    Refuse(model.has_context(), "train.model.context", name, "it is for gpt", problems);
    Refuse(model.has_vocabulary(), "train.model.vocabulary", name, "it is for gpt", problems);
    Refuse(model.has_dropout(), "train.model.dropout", name, "it is for gpt", problems);
  } else if (model.heads() > 0 && model.width() % model.heads() != 0) {
    problems->push_back({"train.model.width", std::to_string(model.width()) + " cannot be shared out to " +
                                                  std::to_string(model.heads()) + " heads evenly"});
  }
}

void CheckData(const TrainSpec& train, Problems* problems) {
  const auto& data = train.data();
  const std::string& format = data.format();
  CheckName("train.data.format", format, "data format", kFormats, problems);
  bool synthetic = format.starts_with("synthetic"), tokens = format.ends_with("tokens");
  if (!synthetic && !data.has_path()) problems->push_back({"train.data.path", "is required; for example /data/mnist"});
  if (!synthetic && data.has_path() && data.path().empty()) problems->push_back({"train.data.path", "is empty"});
  if (synthetic) Refuse(data.has_path(), "train.data.path", format, "leave it out", problems);
  if (!synthetic) Refuse(data.has_samples(), "train.data.samples", format, "it is for synthetic data", problems);
  if (format != "tokens") Refuse(data.has_token_type(), "train.data.token_type", format, "it is for tokens", problems);
  if (data.has_prefetch() && data.prefetch() == 0 && data.has_readers())
    problems->push_back({"train.data.readers", "means nothing while prefetch is 0"});
  bool known = std::find(kFormats.begin(), kFormats.end(), format) != kFormats.end();
  bool gpt = train.model().name() == "gpt";
  if (known && gpt != tokens)
    problems->push_back({"train.data.format", "\"" + format + "\" is " + (tokens ? "text" : "images") + ", but " +
                                                  Printable(train.model().name()) + " learns from " +
                                                  (gpt ? "text; use tokens" : "images; use idx")});
}

void CheckSchedule(const OptimizerSpec& optimizer, Problems* problems) {
  const auto& schedule = optimizer.schedule();
  const std::string path = "train.optimizer.schedule", &name = schedule.name();
  CheckName(path + ".name", name, "schedule", kSchedules, problems);
  if (name == "step" && !schedule.has_step_samples())
    problems->push_back({path + ".step_samples", "is required by step: after how many samples the rate falls"});
  if (name != "step") {
    Refuse(schedule.has_step_samples(), path + ".step_samples", name, "it is for step", problems);
    Refuse(schedule.has_gamma(), path + ".gamma", name, "it is for step", problems);
  }
  if (name != "cosine") Refuse(schedule.has_min_lr(), path + ".min_lr", name, "it is for cosine", problems);
  if (name == "cosine" && schedule.min_lr() > optimizer.lr())
    problems->push_back({path + ".min_lr", "is above lr"});
}

void CheckOptimizer(const OptimizerSpec& optimizer, Problems* problems) {
  const std::string& name = optimizer.name();
  CheckName("train.optimizer.name", name, "optimizer", kOptimizers, problems);
  if (name.starts_with("adam"))
    Refuse(optimizer.momentum() > 0, "train.optimizer.momentum", name, "use sgd", problems);
  if (name == "sgd") {
    Refuse(optimizer.has_beta1(), "train.optimizer.beta1", name, "use adam or adamw", problems);
    Refuse(optimizer.has_beta2(), "train.optimizer.beta2", name, "use adam or adamw", problems);
  }
  CheckSchedule(optimizer, problems);
}

}  // namespace

void CheckTrain(const TrainSpec& train, int64_t world_size, Problems* problems) {
  if (train.has_model()) CheckModel(train.model(), problems);
  if (train.has_data()) CheckData(train, problems);
  CheckOptimizer(train.optimizer(), problems);
  for (auto& [path, text] : {std::pair{"train.data.path", train.data().path()},
                             {"train.checkpoint.dir", train.checkpoint().dir()},
                             {"train.tensorboard", train.tensorboard()}})
    if (text.find('\0') != std::string::npos) problems->push_back({path, "has a zero byte"});
  const std::string& model = train.model().name();
  if (model == "mlp" || model == "simple_cnn")
    Refuse(train.activation_checkpointing(), "train.activation_checkpointing", model,
           "it is for models of many blocks: resnet18, gpt", problems);
  if (!train.has_global_batch_size()) return;
  if (train.has_accumulate())
    problems->push_back({"train.accumulate", "follows from global_batch_size; leave one of them out"});
  if (train.global_batch_size() < world_size)
    problems->push_back({"train.global_batch_size", std::to_string(train.global_batch_size()) + " leaves some of " +
                                                        std::to_string(world_size) + " ranks without a sample"});
}

}  // namespace gt

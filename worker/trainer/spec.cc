#include "worker/trainer/spec.h"

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "common/base/units.h"

namespace gt::trainer {
namespace {

using Json = nlohmann::json;

// Reads the known keys of one JSON object; the first thing that is wrong stays in status().
class ObjectReader {
 public:
  ObjectReader(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
    if (!object_.is_object()) Fail(path_.empty() ? "the spec" : path_, "must be an object");
  }

  const Json* Find(const char* key) {
    known_.emplace_back(key);
    if (!object_.is_object()) return nullptr;
    auto it = object_.find(key);
    return it == object_.end() ? nullptr : &*it;
  }
  std::string PathOf(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

  void Read(const char* key, std::string* out) {
    const Json* value = Find(key);
    if (!value) return;
    if (value->is_string()) *out = value->get<std::string>();
    else Fail(PathOf(key), "must be a string");
  }
  void Read(const char* key, bool* out) {
    const Json* value = Find(key);
    if (!value) return;
    if (value->is_boolean()) *out = value->get<bool>();
    else Fail(PathOf(key), "must be true or false");
  }
  void Read(const char* key, int64_t* out, int64_t least) {
    const Json* value = Find(key);
    if (!value) return;
    bool fits = value->is_number_integer() && (!value->is_number_unsigned() ||
                                               value->get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()});
    if (fits) *out = value->get<int64_t>();
    if (!fits || *out < least) Fail(PathOf(key), "must be an integer of at least " + std::to_string(least));
  }
  void Read(const char* key, uint64_t* out) {
    const Json* value = Find(key);
    if (!value) return;
    if (value->is_number_unsigned()) *out = value->get<uint64_t>();
    else Fail(PathOf(key), "must be an integer of at least 0");
  }
  void Read(const char* key, double* out, double least) {
    const Json* value = Find(key);
    if (!value) return;
    if (value->is_number()) *out = value->get<double>();
    if (!value->is_number() || !(*out >= least))
      Fail(PathOf(key), "must be a number of at least " + std::to_string(least));
  }
  void ReadShare(const char* key, double* out) {
    Read(key, out, 0.0);
    if (status_.ok() && *out >= 1) Fail(PathOf(key), "must be below 1");
  }
  void Fail(const std::string& where, const std::string& what) {
    if (status_.ok()) status_ = Status(Code::kInvalidArgument, where + " " + what);
  }
  // Call after every known key was read.
  Status Finish() {
    if (!status_.ok() || !object_.is_object()) return status_;
    for (const auto& [key, value] : object_.items()) {
      bool known = false;
      for (const std::string& name : known_) known = known || name == key;
      if (known) continue;
      std::string nearest = Nearest(key, known_);
      std::string hint = nearest.empty() ? "" : "; did you mean " + PathOf(nearest.c_str()) + "?";
      return Status(Code::kInvalidArgument, "unknown key " + PathOf(key.c_str()) + hint);
    }
    return OkStatus();
  }

 private:
  const Json& object_;
  std::string path_;
  std::vector<std::string> known_;
  Status status_;
};

Status ReadModel(const Json& json, ModelSpec* model) {
  ObjectReader reader(json, "model");
  reader.Read("name", &model->name);
  reader.Read("hidden", &model->hidden, 1);
  reader.Read("layers", &model->layers, 1);
  reader.Read("heads", &model->heads, 1);
  reader.Read("width", &model->width, 1);
  reader.Read("context", &model->context, 1);
  reader.Read("vocabulary", &model->vocabulary, 2);
  reader.ReadShare("dropout", &model->dropout);
  return reader.Finish();
}

Status ReadData(const Json& json, DataSpec* data) {
  ObjectReader reader(json, "data");
  reader.Read("format", &data->format);
  reader.Read("path", &data->path);
  reader.Read("samples", &data->samples, 1);
  reader.Read("token_type", &data->token_type);
  reader.Read("prefetch", &data->prefetch, 0);
  reader.Read("readers", &data->readers, 1);
  if (data->token_type != "uint16" && data->token_type != "uint32")
    reader.Fail("data.token_type", "must be uint16 or uint32");
  return reader.Finish();
}

Status ReadSchedule(const Json& json, ScheduleSpec* schedule) {
  ObjectReader reader(json, "optimizer.schedule");
  reader.Read("name", &schedule->name);
  reader.Read("warmup_samples", &schedule->warmup_samples, 0);
  reader.Read("step_samples", &schedule->step_samples, 1);
  reader.Read("gamma", &schedule->gamma, 0.0);
  reader.Read("min_lr", &schedule->min_lr, 0.0);
  return reader.Finish();
}

Status ReadOptimizer(const Json& json, OptimizerSpec* optimizer) {
  ObjectReader reader(json, "optimizer");
  reader.Read("name", &optimizer->name);
  reader.Read("lr", &optimizer->learning_rate, 0.0);
  reader.Read("momentum", &optimizer->momentum, 0.0);
  reader.Read("weight_decay", &optimizer->weight_decay, 0.0);
  reader.ReadShare("beta1", &optimizer->beta1);
  reader.ReadShare("beta2", &optimizer->beta2);
  reader.Read("clip_norm", &optimizer->clip_norm, 0.0);
  const Json* schedule = reader.Find("schedule");
  GT_RETURN_IF_ERROR(reader.Finish());
  return schedule ? ReadSchedule(*schedule, &optimizer->schedule) : OkStatus();
}

Status ReadCheckpoint(const Json& json, CheckpointSpec* checkpoint) {
  ObjectReader reader(json, "checkpoint");
  reader.Read("every", &checkpoint->every, 0);
  reader.Read("keep", &checkpoint->keep, 1);
  reader.Read("keep_every", &checkpoint->keep_every, 1);
  reader.Read("keep_best", &checkpoint->keep_best);
  return reader.Finish();
}

}  // namespace

int64_t SamplesPerStep(const Spec& spec, int world_size) {
  return spec.global_batch_size > 0 ? spec.global_batch_size : spec.batch_size * spec.accumulate * world_size;
}

Result<Spec> ParseSpec(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Status(Code::kInvalidArgument, "not valid JSON");
  Spec spec;
  ObjectReader reader(json, "");
  const Json* model = reader.Find("model");
  const Json* data = reader.Find("data");
  if (!model) reader.Fail("model", "is missing");
  if (!data) reader.Fail("data", "is missing");
  reader.Read("batch_size", &spec.batch_size, 1);
  reader.Read("epochs", &spec.epochs, 1);
  reader.Read("precision", &spec.precision);
  reader.Read("global_batch_size", &spec.global_batch_size, 1);
  reader.Read("accumulate", &spec.accumulate, 1);
  reader.Read("activation_checkpointing", &spec.model.activation_checkpointing);
  reader.Read("on_nan", &spec.on_nan);
  reader.Read("tensorboard", &spec.tensorboard);
  if (spec.on_nan != "stop" && spec.on_nan != "skip")
    reader.Fail("on_nan", "'" + spec.on_nan + "' is not supported; there are: stop, skip");
  if (spec.global_batch_size > 0 && spec.accumulate > 1)
    reader.Fail("accumulate", "follows from global_batch_size; leave one of them out");
  reader.Read("seed", &spec.seed);
  reader.Read("log_every", &spec.log_every, 1);
  reader.Read("max_steps", &spec.max_steps, 0);
  reader.Read("bench_warmup", &spec.bench_warmup, 0);
  const Json* optimizer = reader.Find("optimizer");
  const Json* checkpoint = reader.Find("checkpoint");
  GT_RETURN_IF_ERROR(reader.Finish());
  GT_RETURN_IF_ERROR(ReadModel(*model, &spec.model));
  GT_RETURN_IF_ERROR(ReadData(*data, &spec.data));
  if (optimizer) GT_RETURN_IF_ERROR(ReadOptimizer(*optimizer, &spec.optimizer));
  if (checkpoint) GT_RETURN_IF_ERROR(ReadCheckpoint(*checkpoint, &spec.checkpoint));
  return spec;
}

Result<Spec> ReadSpec(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return Status(Code::kNotFound, "cannot read the spec " + path);
  Result<Spec> spec = ParseSpec(text.str());
  if (!spec.ok()) return spec.status().WithContext(path);
  return spec;
}

}  // namespace gt::trainer

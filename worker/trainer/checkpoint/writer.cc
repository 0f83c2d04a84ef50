#include "worker/trainer/checkpoint/writer.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "worker/trainer/checkpoint/format/safetensors.h"
#include "worker/trainer/checkpoint/snapshot.h"

namespace gt::trainer {
namespace {

constexpr char kTemporaryPrefix[] = ".tmp-";

std::vector<TensorBytes> BytesOf(const std::vector<NamedTensor>& tensors) {
  std::vector<TensorBytes> bytes;
  for (const NamedTensor& part : tensors)
    bytes.push_back({part.name, part.tensor.sizes().vec(), part.tensor.const_data_ptr<float>()});
  return bytes;
}

Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? Status(Code::kInternal, path + ": " + error.message()) : OkStatus();
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::string attempt_folder, const CheckpointSpec& policy,
                                   std::function<void(const Done&)> on_done,
                                   std::function<void(const Status&)> on_error)
    : folder_(std::move(attempt_folder)), policy_(policy), on_done_(std::move(on_done)),
      on_error_(std::move(on_error)), best_(ReadBest(folder_)) {
  // What a killed predecessor in this attempt left half written.
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error))
    if (entry.path().filename().string().rfind(kTemporaryPrefix, 0) == 0)
      std::filesystem::remove_all(entry.path(), error);
  std::vector<int64_t> steps = CompleteSteps(folder_);
  if (!steps.empty()) last_step_ = steps.back();
  thread_ = std::thread([this] { Loop(); });
}

CheckpointWriter::~CheckpointWriter() {
  {
    std::lock_guard lock(mutex_);
    quit_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

bool CheckpointWriter::Start(const TrainState& state, Manifest manifest) {
  std::lock_guard lock(mutex_);
  if (busy_ || next_ || manifest.step == last_step_) return false;
  Snapshot snapshot{.manifest = std::move(manifest)};
  SplitState(state, /*copy=*/true, &snapshot.model, &snapshot.optimizer);
  next_ = std::move(snapshot);
  changed_.notify_all();
  return true;
}

Status CheckpointWriter::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !busy_ && !next_; });
  return last_status_;
}

bool CheckpointWriter::Improves(double accuracy) const {
  std::lock_guard lock(mutex_);
  return policy_.keep_best && accuracy > best_.accuracy;
}

Status CheckpointWriter::OfferBest(double accuracy) {
  if (!Improves(accuracy)) return OkStatus();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !busy_ && !next_; });
  if (last_step_ < 0) return last_status_;
  BestCheckpoint best{.step = last_step_, .accuracy = accuracy};
  GT_RETURN_IF_ERROR(WriteBest(folder_, best));
  best_ = best;
  return OkStatus();
}

int64_t CheckpointWriter::last_step() const {
  std::lock_guard lock(mutex_);
  return last_step_;
}

void CheckpointWriter::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return next_ || quit_; });
    if (!next_) return;
    Snapshot snapshot = std::move(*next_);
    next_.reset();
    busy_ = true;
    lock.unlock();
    Result<Done> done = Write(snapshot);
    if (done.ok()) on_done_(*done);
    else on_error_(done.status());
    lock.lock();
    busy_ = false;
    last_status_ = done.status();
    if (done.ok()) last_step_ = done->step;
    changed_.notify_all();
  }
}

Result<CheckpointWriter::Done> CheckpointWriter::Write(const Snapshot& snapshot) {
  std::string name = StepFolder(snapshot.manifest.step), final_path = folder_ + "/" + name;
  std::string temporary = folder_ + "/" + kTemporaryPrefix + name + "-" + std::to_string(getpid());
  std::error_code error;
  std::filesystem::remove_all(temporary, error);
  GT_RETURN_IF_ERROR(MakeFolder(temporary));

  Manifest manifest = snapshot.manifest;
  manifest.files.clear();
  GT_ASSIGN_OR_RETURN(FileDigest model, WriteSafetensors(temporary, kModelName, BytesOf(snapshot.model)));
  GT_ASSIGN_OR_RETURN(FileDigest optimizer, WriteSafetensors(temporary, kOptimizerName, BytesOf(snapshot.optimizer)));
  manifest.files = {model, optimizer};
  std::string text = EncodeManifest(manifest);
  GT_ASSIGN_OR_RETURN(DigestedFile file, DigestedFile::Create(temporary, kManifestName));
  GT_RETURN_IF_ERROR(file.Write(text.data(), text.size()));
  GT_RETURN_IF_ERROR(file.Finish().status());
  GT_RETURN_IF_ERROR(SyncFolder(temporary));

  std::filesystem::remove_all(final_path, error);  // incomplete, or the same step again after a heal
  std::filesystem::rename(temporary, final_path, error);
  if (error) return Status(Code::kInternal, "rename to " + final_path + ": " + error.message());
  GT_RETURN_IF_ERROR(SyncFolder(folder_));
  RemoveOld();
  return Done{manifest.step, final_path, model.bytes + optimizer.bytes + static_cast<int64_t>(text.size())};
}

bool CheckpointWriter::Stays(int64_t step, size_t newer) const {
  if (newer < static_cast<size_t>(policy_.keep)) return true;
  if (policy_.keep_every > 0 && step > 0 && step % policy_.keep_every == 0) return true;
  std::lock_guard lock(mutex_);
  return step == best_.step;
}

void CheckpointWriter::RemoveOld() {
  std::vector<int64_t> steps = CompleteSteps(folder_);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (Stays(steps[i], steps.size() - 1 - i)) continue;
    std::string path = folder_ + "/" + StepFolder(steps[i]);
    std::error_code error;
    std::filesystem::remove(path + "/" + kManifestName, error);  // first: a half removed one is none
    std::filesystem::remove_all(path, error);
  }
}

}  // namespace gt::trainer

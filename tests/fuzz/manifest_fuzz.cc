// Any bytes as a checkpoint's manifest: refused, or counters and files that are possible and that mean the same once they
// are written again; and a folder with such a manifest is no checkpoint while its files are missing.
#include "common/base/assert.h"
#include "common/os/file.h"
#include "tests/fuzz/fuzz.h"
#include "worker/trainer/checkpoint/format/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gt::trainer;
  std::string text(reinterpret_cast<const char*>(data), size);
  gt::Result<Manifest> manifest = ParseManifest(text);
  const std::string& folder = gt::fuzz::Scratch();
  GT_ASSERT(gt::WriteFile(folder + "/" + kManifestName, text).ok());
  gt::Result<Manifest> verified = VerifyCheckpoint(folder);
  if (!manifest.ok()) {
    GT_ASSERT(manifest.status().code() == gt::Code::kDataLoss && !verified.ok());
    return 0;
  }
  GT_ASSERT(manifest->files.empty() || !verified.ok());
  GT_ASSERT(manifest->step >= 0 && manifest->samples >= 0 && manifest->evaluated_epochs >= 0);
  GT_ASSERT(manifest->cursor.epoch >= 0 && manifest->cursor.offset >= 0);
  for (const FileDigest& file : manifest->files)
    GT_ASSERT(file.bytes >= 0 && file.name.find('/') == std::string::npos);
  std::string written = EncodeManifest(*manifest);
  gt::Result<Manifest> again = ParseManifest(written);
  GT_ASSERT(again.ok() && again->files == manifest->files && EncodeManifest(*again) == written);
  return 0;
}

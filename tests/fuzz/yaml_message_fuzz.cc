// Any bytes as a job file: read or refused, never a crash; and what was read prints as YAML that reads back the same.
#include <cstdint>
#include <string_view>

#include "common/base/assert.h"
#include "common/text/job_check.h"
#include "common/text/message_text.h"
#include "common/text/text.h"
#include "common/text/yaml_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gt;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  gridtrain::v1::JobSpec spec;
  MessageReader reader(&spec);
  reader.ReadText(text, "job.yaml");
  reader.Finish();
  reader.Add(CheckJobRelations(spec));
  for (const TextProblem& problem : reader.problems()) {
    std::string line = ToString(problem);
    GT_ASSERT(IsPrintable(line));
    GT_ASSERT(problem.origin.source == "job.yaml");
  }
  if (!reader.ok()) return 0;
  GT_ASSERT(ShapeOf(spec).world_size >= 1);
  gridtrain::v1::JobSpec again;
  MessageReader second(&again);
  second.ReadText(ToYaml(spec, reader.origins()), "again.yaml");
  second.Finish();
  GT_ASSERT(second.ok());
  GT_ASSERT(Dump(ToJson(spec)) == Dump(ToJson(again)));
  return 0;
}

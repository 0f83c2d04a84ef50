// Any answer of a coordinator, as gtctl shows it: tables and details can do no harm on a terminal, JSON is JSON, and of a
// log nothing is printed twice. Input: which answer, then the message on the wire.
#include "cli/log_printer.h"
#include "cli/render.h"
#include "cli/render_detail.h"
#include "common/base/assert.h"
#include "common/text/message_text.h"
#include "common/text/text.h"
#include "tests/fuzz/fuzz.h"

namespace gt {
namespace {

namespace v1 = gridtrain::v1;
constexpr Millis kNow = 1'700'000'000'000;

void CheckLines(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    GT_ASSERT(IsPrintable(line));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

void CheckJson(const Json& json) {
  std::string line = Dump(json);
  GT_ASSERT(IsUtf8(line) && line.find('\n') == std::string::npos);
  GT_ASSERT(Json::accept(line));
}

void CheckJob(const v1::JobSummary& job) {
  for (bool terminal : {false, true})
    CheckLines(JobTable({job}, /*wide=*/terminal, {.terminal = terminal, .columns = 80}, kNow));
  CheckLines(Outcome(job) + "\n" + NextStep(job) + "\n" + ShownState(job));
  CheckJson(JobJson(job, kNow));
}

void CheckDetail(const v1::JobDetail& detail) {
  CheckLines(DetailText(detail, {}, kNow));
  CheckJson(DetailJson(detail, kNow));
  ToYaml(detail.spec(), {});
}

// The events field of an EventBatch is a list of any messages on the wire: here, of chunks of a log.
void CheckLog(std::string_view bytes) {
  v1::EventBatch batch;
  if (!batch.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  std::string printed, whole;
  LogPrinter json({.json = true}, [&](std::string_view line) { printed += line; });
  LogPrinter lines({.whole_lines = true}, [&](std::string_view line) { whole += line; });
  size_t said = 0;
  for (const v1::EventLine& event : batch.events()) {
    v1::LogChunk chunk;
    if (!chunk.ParseFromString(event.SerializeAsString())) continue;
    said += chunk.data().size();
    json.Add(chunk);
    lines.Add(chunk);
  }
  json.Flush();
  lines.Flush();
  GT_ASSERT(whole.size() <= said + 0);
  for (std::string_view rest = printed; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1))
    GT_ASSERT(Json::accept(rest.substr(0, rest.find('\n'))));
}

}  // namespace
}  // namespace gt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gt;
  fuzz::Input input(data, size);
  uint8_t kind = input.Take<uint8_t>() % 3;
  std::string bytes(input.rest());
  if (v1::JobSummary job; kind == 0 && job.ParseFromString(bytes)) CheckJob(job);
  if (v1::JobDetail detail; kind == 1 && detail.ParseFromString(bytes)) CheckDetail(detail);
  if (kind == 2) CheckLog(bytes);
  return 0;
}

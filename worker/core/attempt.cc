#include "worker/core/attempt.h"

namespace gt::worker {

AttemptReport ToReport(const Attempt& attempt, uint8_t parts) {
  AttemptReport report;
  report.uid = attempt.uid;
  report.generation = attempt.generation;
  if (attempt.unknown) {
    report.unknown = true;
    return report;
  }
  if (parts & kPartPhase) report.phase = attempt.phase;
  if ((parts & kPartEndpoint) && attempt.endpoint.known()) report.endpoint = attempt.endpoint;
  if ((parts & kPartExit) && attempt.exit) report.exit = attempt.exit;
  if (parts & kPartProgress) report.progress = attempt.progress;
  if (parts & kPartFormation) report.formation = attempt.formation;
  if (parts & kPartCheckpoint) report.checkpoint = attempt.checkpoint;
  return report;
}

}  // namespace gt::worker

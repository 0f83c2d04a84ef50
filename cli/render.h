// Jobs as table rows and as JSON. JSON is a contract: keys are only ever added, unknown is null, ids are strings, times
// RFC 3339 UTC, durations seconds, enums upper case. Pure; `now` is UTC milliseconds.
#pragma once
#include <string>
#include <vector>

#include "common/base/time.h"
#include "common/text/message_text.h"
#include "common/text/table.h"
#include "gridtrain/v1/jobs_service.pb.h"

namespace gt {

// What people see as the state: the attempt's phase while a task is active, "ACTIVE 3/16" for arrays.
std::string ShownState(const gridtrain::v1::JobSummary& job);
Colour StateColour(const gridtrain::v1::JobSummary& job);
// Names of enums from the wire; a value of a later version is "UNKNOWN(n)".
std::string StateName(int value);
std::string PhaseName(int value);
std::string CauseName(int value);

// ID NAME STATE REASON NODES GPUS QUEUED RAN ATT; `wide` adds USER PRIORITY STEP EXIT NODELIST.
std::string JobTable(const std::vector<gridtrain::v1::JobSummary>& jobs, bool wide, const TableStyle& style,
                     Millis now);

Json JobJson(const gridtrain::v1::JobSummary& job, Millis now);
Json TimeJson(bool known, Millis utc);  // null when not known

// How a job ended or where it stands, and what to try next: "job 42 failed: exit 1 on gpu-7 (rank 3)".
std::string Outcome(const gridtrain::v1::JobSummary& job, const std::string& id = "");  // id: of one task
std::string NextStep(const gridtrain::v1::JobSummary& job);
bool IsFinalJob(const gridtrain::v1::JobSummary& job);

Millis WallMillis();

}  // namespace gt

// The one place that sees both the wire and the model. Everything that comes from outside is checked here for what the
// core does not look at: sizes, ranges, text that is text. Pure; any thread.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "coordinator/core/command.h"
#include "coordinator/core/model.h"
#include "coordinator/core/orders.h"
#include "coordinator/core/policy.h"
#include "gridtrain/v1/job.pb.h"
#include "gridtrain/v1/jobs_service.pb.h"
#include "gridtrain/v1/worker_service.pb.h"

namespace gt {

namespace wire = gridtrain::v1;

Uid FromWire(const wire::WireUid& uid);
void ToWire(const Uid& uid, wire::WireUid* out);
// At most `limit` bytes of `text`, as text that can be shown, not cut inside a character.
std::string Clean(std::string_view text, size_t limit);

// --- jobs (convert_job.cc) ------------------------------------------------------------------------------------------
// Everything that is wrong with a submitted job, each with its field; empty: ConvertJob will do.
std::vector<std::string> CheckSubmit(const wire::SubmitRequest::One& one);
// The draft that SubmitJob carries. `one` must have passed CheckSubmit.
Job ConvertJob(const wire::SubmitRequest::One& one, const std::string& owner, Millis submitted_wall);
// What the ranks of a stored job are made of. kDataLoss when the stored spec cannot be read.
Result<wire::JobLaunch> ConvertLaunch(const Job& job, const Policy& policy);

// --- workers (convert_worker.cc) ------------------------------------------------------------------------------------
// Bounds on what one worker may say at once.
constexpr size_t kMaxGpusPerNode = 256, kMaxRanksPerNode = 1024;
constexpr size_t kMaxReportAttempts = 16'384;
constexpr size_t kMaxExitRecordBytes = 256u << 10;

Result<NodeHello> ConvertHello(const wire::NodeReport& report, uint64_t session);
Result<NodeReport> ConvertReport(const wire::NodeReport& report, uint64_t session, Millis wall);
// Without launch data: the edge adds those of orders.jobs.
void ConvertOrders(const Orders& orders, wire::NodeOrders* out);
// The exit record that a member of an attempt keeps; an empty message when it cannot be read.
wire::ExitRecord ParseExit(const std::string& stored);

// --- answers (convert_rows.cc) --------------------------------------------------------------------------------------
// Names of nodes by id, for rows that carry ids only.
using NodeNames = std::map<NodeId, std::string>;

// What the row says; `reason` is the stored message of a job that ended.
void FillSummary(const Job& job, wire::JobSummary* out);
// The same for one task of an array. `task` is null when it was never placed: then the job's row tells.
void FillTaskSummary(const Job& job, uint32_t index, const Task* task, const Attempt* newest, wire::JobSummary* out);
// Phase, progress and nodes of the attempt that runs now or ran last.
void FillFromAttempt(const Attempt& attempt, const NodeNames& names, wire::JobSummary* out);
void FillProgress(const Progress& progress, wire::Progress* out);
void FillTask(const Task& task, wire::TaskDetail* out);
void FillAttempt(const Attempt& attempt, const NodeNames& names, wire::AttemptDetail* out);
void FillNode(const Node& node, const Policy& policy, Now now, wire::NodeSummary* out);

}  // namespace gt

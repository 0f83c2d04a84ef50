// What must hold between the fields of a job, and what follows from them: the one place that both gtctl (before it
// sends) and the coordinator (which trusts nobody) ask. Pure; any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/vocabulary.h"
#include "common/text/field_rules.h"
#include "gridtrain/v1/job.pb.h"

namespace gt {

constexpr size_t kMaxExecString = 128u << 10;  // what Linux takes as one argument or "NAME=value", with its end
constexpr size_t kMaxExecBytes = 2u << 20;     // of all of them together, with our own part kept free
constexpr size_t kReservedExecBytes = 16u << 10;

// Indices first..last, both inclusive.
struct ArrayRange {
  uint32_t first = 0;
  uint32_t last = 0;
  uint32_t count() const { return last - first + 1; }
};
// "0-15" or "7"; at most kMaxArrayTasks of them, none above kMaxArrayIndex.
Result<ArrayRange> ParseArrayRange(std::string_view text);

// What a job asks for, with every default and derived value filled in. Meaningful for a spec that CheckJob passes.
struct JobShape {
  int32_t nodes = 1;
  int32_t gpus_per_node = 0;
  int32_t ranks_per_node = 1;  // processes_per_node, or gpus_per_node, or 1
  int32_t world_size = 1;
  int32_t cpus_per_node = 1;    // ranks_per_node * cpus_per_process
  int64_t memory_per_node = 0;  // bytes; 0: no request and no limit
  bool array = false;
  ArrayRange indices;  // {0, 0} for a job of one task
};
JobShape ShapeOf(const gridtrain::v1::JobSpec& spec);

// Everything that is wrong: the rules of each field first, then the relations between them. Empty: a job that some
// fleet could run. Paths are as in the job file.
std::vector<FieldProblem> CheckJob(const gridtrain::v1::JobSpec& spec);
// The relations alone, for a reader that has checked the rules already.
std::vector<FieldProblem> CheckJobRelations(const gridtrain::v1::JobSpec& spec);

}  // namespace gt

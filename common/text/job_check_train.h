// What the rules of single fields cannot say about a job's `train:` section.
#pragma once
#include <vector>

#include "common/text/field_rules.h"
#include "gridtrain/v1/job.pb.h"

namespace gt {

// Appends a problem for each name that is not known, each setting that would be ignored, and each pair that cannot go
// together. `world_size`: ranks of the job.
void CheckTrain(const gridtrain::v1::TrainSpec& train, int64_t world_size, std::vector<FieldProblem>* problems);

}  // namespace gt

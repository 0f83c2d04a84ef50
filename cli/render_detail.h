// One job in full: what it asked for, its tasks and attempts, who failed first and the last lines it printed. Pure.
#pragma once
#include <string>

#include "common/base/time.h"
#include "common/text/message_text.h"
#include "common/text/table.h"
#include "gridtrain/v1/jobs_service.pb.h"

namespace gt {

std::string DetailText(const gridtrain::v1::JobDetail& detail, const TableStyle& style, Millis now);
// JobJson with "spec" and "task_list" added.
Json DetailJson(const gridtrain::v1::JobDetail& detail, Millis now);

}  // namespace gt

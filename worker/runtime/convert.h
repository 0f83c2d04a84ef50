// Between the wire (worker_service.proto) and the agent's plain structs. The one file of the worker that sees both.
#pragma once
#include "common/base/status.h"
#include "gridtrain/v1/worker_service.pb.h"
#include "worker/core/messages.h"

namespace gt::worker {

void ToProto(const NodeReport& report, gridtrain::v1::NodeReport* out);
void UidToProto(const Uid& uid, gridtrain::v1::WireUid* out);

// kInvalidArgument for values that no coordinator of this protocol sends (a port above 65535, an empty uid): the stream
// is then dropped.
Result<NodeOrders> FromProto(const gridtrain::v1::NodeOrders& orders);

}  // namespace gt::worker

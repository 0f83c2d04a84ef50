#include "coordinator/service/worker_service.h"

namespace gt {
namespace {

template <typename In, typename Out>
class RefusedCall final : public grpc::ServerBidiReactor<In, Out> {
 public:
  explicit RefusedCall(const Status& why) { this->Finish(ToGrpc(why)); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerBidiReactor<wire::NodeReport, wire::NodeOrders>* WorkerService::Sync(grpc::CallbackServerContext* context) {
  if (Status allowed = auth_->Check(*context); !allowed.ok()) return new RefusedCall<wire::NodeReport, wire::NodeOrders>(allowed);
  return edge_->Open(context);
}

grpc::ServerBidiReactor<wire::LogBatch, wire::LogBatchAck>* WorkerService::ShipLogs(grpc::CallbackServerContext* context) {
  if (Status allowed = auth_->Check(*context); !allowed.ok()) return new RefusedCall<wire::LogBatch, wire::LogBatchAck>(allowed);
  return ShipStream::Begin(ship_);
}

}  // namespace gt

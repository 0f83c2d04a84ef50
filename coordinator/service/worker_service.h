// What gt-worker calls. Streams do the work: sync_stream.h, ship_stream.h.
#pragma once
#include "coordinator/service/edge.h"
#include "coordinator/service/ship_stream.h"
#include "coordinator/service/worker_edge.h"
#include "gridtrain/v1/worker_service.grpc.pb.h"

namespace gt {

class WorkerService final : public wire::WorkerService::CallbackService {
 public:
  WorkerService(WorkerEdge* edge, ShipDeps ship, const Auth* auth) : edge_(edge), ship_(std::move(ship)), auth_(auth) {}

  grpc::ServerBidiReactor<wire::NodeReport, wire::NodeOrders>* Sync(grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<wire::LogBatch, wire::LogBatchAck>* ShipLogs(grpc::CallbackServerContext* context) override;

 private:
  WorkerEdge* const edge_;
  const ShipDeps ship_;
  const Auth* const auth_;
};

}  // namespace gt

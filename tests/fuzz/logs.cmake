gt_fuzz(log_frame gt_coordinator_logs)
gt_fuzz(log_index gt_coordinator_logs)
gt_fuzz(log_store gt_coordinator_logs)
gt_fuzz(log_append gt_coordinator_logs)

gt_fuzz(pack gt_coordinator_store)

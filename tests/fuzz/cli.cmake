gt_fuzz(grpc_answer gt_cli)
gt_fuzz(cli_render gt_cli)

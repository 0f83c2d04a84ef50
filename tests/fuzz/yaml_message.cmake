gt_fuzz(yaml_message gt_text)

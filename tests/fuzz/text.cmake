gt_fuzz(yaml_message gt_text)
gt_fuzz(access gt_text)
gt_fuzz(text_values gt_text)

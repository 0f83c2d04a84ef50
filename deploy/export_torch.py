#!/usr/bin/env python3
"""Turns a checkpoint of gt-trainer into a file for PyTorch: torch.load(OUTPUT) gives {"model": a state_dict, "optimizer": its
tensors by name, "manifest": step, samples, seed and the like}. Needs torch and nothing else; reads only complete
checkpoints and checks their digests.
usage: export_torch.py CHECKPOINT OUTPUT.pt   (CHECKPOINT: a folder step-N)"""
import hashlib
import json
import struct
import sys
from pathlib import Path

import torch


def read_safetensors(path):
    data = bytearray(path.read_bytes())
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(bytes(data[8:8 + length]))
    tensors = {}
    for name, part in header.items():
        if name == "__metadata__":
            continue
        if part["dtype"] != "F32":
            raise SystemExit(f"{path}: {name} is {part['dtype']}, not F32")
        begin, end = part["data_offsets"]
        flat = torch.frombuffer(data, dtype=torch.float32, count=(end - begin) // 4, offset=8 + length + begin) if end > begin \
            else torch.empty(0)
        tensors[name] = flat.reshape(part["shape"]).clone()
    return tensors


def check(folder, manifest):
    for entry in manifest["files"]:
        digest = hashlib.sha256((folder / entry["name"]).read_bytes()).hexdigest()
        if digest != entry["sha256"]:
            raise SystemExit(f"{folder / entry['name']}: its digest is not that of the manifest")


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    folder, output = Path(sys.argv[1]), Path(sys.argv[2])
    manifest_path = folder / "manifest.json"
    if not manifest_path.exists():
        raise SystemExit(f"{folder} is no complete checkpoint: it has no manifest.json")
    manifest = json.loads(manifest_path.read_text())
    check(folder, manifest)
    torch.save({"model": read_safetensors(folder / "model.safetensors"),
                "optimizer": read_safetensors(folder / "optimizer.safetensors"), "manifest": manifest}, output)
    print(f"{output}: step {manifest['step']}")


main()

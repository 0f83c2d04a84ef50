"""What gt-trainer's step time is measured against: PyTorch DistributedDataParallel under torchrun, the same net, batch,
optimizer and thread count, Gloo between two ranks. Prints "bench: X ms/step" on rank 0."""
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "unit/trainer/fixtures"))
import make_models  # noqa: E402  (the same definitions that the models are tested against)

WARMUP = 20
VOCABULARY, CONTEXT = 20000, 128


def attend(self, x):
    """make_models writes attention out; a training would use the library's."""
    n, length, width = x.shape
    q, k, v = (part.view(n, length, self.heads, width // self.heads).transpose(1, 2)
               for part in self.c_attn(x).split(width, dim=2))
    mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return self.c_proj(mixed.transpose(1, 2).reshape(n, length, width))


def make(model, batch):
    """Inputs, labels and the net."""
    if model == "gpt":
        make_models.Attention.forward = attend
        tokens = torch.randint(0, VOCABULARY, (batch, CONTEXT))
        return tokens, tokens.flatten().roll(-1), make_models.Gpt(6, 8, 256, CONTEXT, VOCABULARY)
    labels = torch.randint(0, 10, (batch,))
    if model == "resnet18":
        return torch.rand(batch, 1, 28, 28), labels, make_models.Resnet18(1, 10)
    if model == "simple_cnn":
        return torch.rand(batch, 1, 28, 28), labels, nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10))
    return torch.rand(batch, 784), labels, nn.Sequential(
        nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))


def main():
    model, steps, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    inputs, labels, net = make(model, batch)
    net = DistributedDataParallel(net, gradient_as_bucket_view=True)
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)

    def step():
        optimizer.zero_grad(set_to_none=False)
        nn.functional.cross_entropy(net(inputs), labels).backward()
        optimizer.step()

    for _ in range(WARMUP):
        step()
    started = time.perf_counter()
    for _ in range(steps):
        step()
    elapsed = time.perf_counter() - started
    if dist.get_rank() == 0:
        print(f"bench: {elapsed / steps * 1e3:.3f} ms/step", flush=True)
    dist.destroy_process_group()


main()

"""What gt-trainer's step time is measured against: PyTorch DistributedDataParallel under torchrun, the same net, batch,
optimizer and thread count, Gloo between two ranks. Prints "bench: X ms/step" on rank 0."""
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

BATCH, WARMUP = 64, 20


def make(model):
    if model == "simple_cnn":
        return (BATCH, 1, 28, 28), nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10))
    return (BATCH, 784), nn.Sequential(
        nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))


def main():
    model, steps = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    shape, net = make(model)
    net = DistributedDataParallel(net, gradient_as_bucket_view=True)
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    inputs, labels = torch.rand(*shape), torch.randint(0, 10, (BATCH,))

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

"""Training step of VGG16-BN, 32x32, in Lathe and in PyTorch, interleaved on the same machine.

    python bench/vs_pytorch.py build/host/train_step [--batch 128] [--rounds 5] [--threads 2]

Each round runs Lathe's step (bench/train_step.cpp) with direct and with Winograd convolutions, then PyTorch's eager step
in contiguous and in channels_last memory, fp32, SGD with momentum, equal threads. The ratio of a round is PyTorch's
faster one by Lathe's; its median and extremes are printed. Needs PyTorch.
"""
import argparse
import json
import statistics
import subprocess
import time

import torch
from torch import nn


def vgg16_bn():
    layers, channels = [], 3
    for outputs, count in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(count):
            layers += [nn.Conv2d(channels, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
            channels = outputs
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def pytorch_step(batch, memory_format):
    model = vgg16_bn().to(memory_format=memory_format)
    rule = torch.optim.SGD(model.parameters(), 0.01, 0.9, weight_decay=5e-4)
    x = torch.randn(batch, 3, 32, 32).to(memory_format=memory_format)
    y = torch.arange(batch) % 10

    def step():
        rule.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        rule.step()

    return step


def milliseconds(step, count):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


LATHE = {"lathe": [], "lathe winograd": ["winograd=on"]}


def lathe_milliseconds(a, switches):
    command = [a.train_step, "--batch", str(a.batch), "--threads", str(a.threads), "--steps", "3", "--warmup", "1", *switches]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return statistics.median(json.loads(out.strip().splitlines()[-1])["step_ms"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("train_step")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    peers = {name: pytorch_step(a.batch, form) for name, form in
             (("contiguous", torch.contiguous_format), ("channels_last", torch.channels_last))}
    for step in peers.values():
        step()
    rows = []
    for _ in range(a.rounds):
        row = {name: lathe_milliseconds(a, switches) for name, switches in LATHE.items()}
        row.update({name: milliseconds(step, 3) for name, step in peers.items()})
        rows.append(row)
        print(json.dumps(row), flush=True)
    summary = {"batch": a.batch, "threads": a.threads, "torch": torch.__version__, "rounds": a.rounds}
    summary.update({f"{name} ms": statistics.median(row[name] for row in rows) for name in rows[0]})
    for name in LATHE:
        ratios = [min(row[peer] for peer in peers) / row[name] for row in rows]
        summary[f"{name} ratio"] = [min(ratios), statistics.median(ratios), max(ratios)]
    print(json.dumps(summary))


main()

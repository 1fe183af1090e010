"""Losses of ten training steps in PyTorch, in fp32 and fp64, as golden numbers for tests/apps/pytorch_test.cpp.

    python pytorch_losses.py                 prints the table that the test holds
    python pytorch_losses.py LATHE [WIDTH]   also runs that lathe program on the same work and compares it with fp64 as
                                             three fp32 runs of PyTorch's own are: with two threads, with one, and without
                                             its oneDNN; LATHE_ARGS="--winograd on" adds options

Weights, pictures and labels come from splitmix64 by a formula that the test repeats, so no file is needed.
Made with PyTorch 2.15 on a CPU with 2 threads.
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch import nn

SAMPLES, BATCH, STEPS, CLASSES = 80, 32, 10, 10
STAGES = [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]
MEAN, DEVIATION = 0.5, 0.25

CASES = {
    "bn_linear_sgd": dict(bn=True, head="linear", rule="sgd", lr=0.01, wd=5e-4, nesterov=False, smoothing=0.0),
    "bn_linear_nesterov": dict(bn=True, head="linear", rule="sgd", lr=0.01, wd=5e-4, nesterov=True, smoothing=0.1),
    "classic_adamw": dict(bn=False, head="classic", rule="adamw", lr=3e-4, wd=0.05, nesterov=False, smoothing=0.0),
}


def splitmix64(x):
    with np.errstate(over="ignore"):
        z = x.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def hashes(stream, count):
    return splitmix64((np.uint64(stream) << np.uint64(32)) + np.arange(count, dtype=np.uint64))


def uniform(stream, count):
    return (hashes(stream, count) >> np.uint64(40)).astype(np.float64) / 2.0**24


def pictures():
    pixels = (hashes(1000, SAMPLES * 32 * 32) >> np.uint64(56)).astype(np.uint8)
    labels = (hashes(1001, SAMPLES) % np.uint64(CLASSES)).astype(np.uint8)
    labels[:CLASSES] = np.arange(CLASSES)
    return pixels.reshape(SAMPLES, 32, 32), labels


def build(case, width):
    layers, channels = [], 3
    for outputs, count in STAGES:
        outputs = max(1, math.floor(outputs * width))
        for _ in range(count):
            layers.append(nn.Conv2d(channels, outputs, 3, padding=1))
            if case["bn"]:
                layers.append(nn.BatchNorm2d(outputs))
            layers.append(nn.ReLU())
            channels = outputs
        layers.append(nn.MaxPool2d(2))
    model = nn.Module()
    model.features = nn.Sequential(*layers)
    if case["head"] == "linear":
        model.classifier = nn.Sequential(nn.Linear(channels, CLASSES))
        pool = nn.AdaptiveAvgPool2d(1)
    else:
        hidden = max(1, math.floor(4096 * width))
        model.classifier = nn.Sequential(nn.Linear(channels * 49, hidden), nn.ReLU(), nn.Dropout(0.0), nn.Linear(hidden, hidden),
                                         nn.ReLU(), nn.Dropout(0.0), nn.Linear(hidden, CLASSES))
        pool = nn.AdaptiveAvgPool2d(7)
    model.forward = lambda x: model.classifier(pool(model.features(x)).flatten(1))
    named = list(model.named_parameters())
    last = [name for name, p in named if p.dim() > 1][-1]
    for index, (name, p) in enumerate(named):
        if p.dim() == 1:
            continue   # biases 0, gamma 1, beta 0
        bound = 0.05 if name == last else math.sqrt(6.0 / (p.numel() // p.shape[0]))
        values = (2 * uniform(index, p.numel()) - 1) * bound
        p.data = torch.from_numpy(values.astype(np.float32)).reshape(p.shape)
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.zeros_(module.bias)
    return model


def losses(case, width, dtype):
    model = build(case, width).to(dtype)
    pixels, labels = pictures()
    order = np.argsort(labels, kind="stable") if case.get("by_class") else np.arange(SAMPLES)
    x = torch.from_numpy(pixels[order].astype(np.float32)).to(dtype) / 255
    x = ((x - MEAN) / DEVIATION).unsqueeze(1).repeat(1, 3, 1, 1)
    y = torch.from_numpy(labels[order].astype(np.int64))
    if case["rule"] == "sgd":
        rule = torch.optim.SGD(model.parameters(), case["lr"], 0.9, weight_decay=case["wd"], nesterov=case["nesterov"])
    else:
        rule = torch.optim.AdamW(model.parameters(), case["lr"], weight_decay=case["wd"])
    criterion = nn.CrossEntropyLoss(label_smoothing=case["smoothing"])
    out, at = [], 0
    while len(out) < STEPS:
        end = min(at + BATCH, SAMPLES)
        loss = criterion(model(x[at:end]), y[at:end])
        rule.zero_grad()
        loss.backward()
        rule.step()
        out.append(loss.item())
        at = 0 if end == SAMPLES else end
    return out


def with_one_thread(case, width):
    torch.set_num_threads(1)
    out = losses(case, width, torch.float32)
    torch.set_num_threads(2)
    return out


def without_onednn(case, width):
    with torch.backends.mkldnn.flags(enabled=False):
        return losses(case, width, torch.float32)


def run_lathe(lathe, case, width):
    from safetensors.torch import save_file   # pip install safetensors
    with tempfile.TemporaryDirectory() as folder:
        pixels, labels = pictures()
        for part in ("train", "t10k"):
            with open(f"{folder}/{part}-images-idx3-ubyte", "wb") as f:
                f.write(struct.pack(">IIII", 2051, SAMPLES, 32, 32) + pixels.tobytes())
            with open(f"{folder}/{part}-labels-idx1-ubyte", "wb") as f:
                f.write(struct.pack(">II", 2049, SAMPLES) + labels.tobytes())
        save_file(dict(build(case, width).state_dict()), f"{folder}/init.safetensors")
        command = [lathe, "train", "--data", f"idx:{folder}", "--init", f"{folder}/init.safetensors", "--shuffle", "off",
                   "--augment", "none", "--dropout", "0", "--normalize", "0.5,0.5,0.5/0.25,0.25,0.25", "--width", str(width),
                   "--model", "vgg16_bn" if case["bn"] else "vgg16", "--head", case["head"], "--optimizer", case["rule"],
                   "--lr", str(case["lr"]), "--momentum", "0.9", "--nesterov", "on" if case["nesterov"] else "off",
                   "--weight-decay", str(case["wd"]), "--decay", "all", "--label-smoothing", str(case["smoothing"]),
                   "--schedule", "constant", "--warmup-epochs", "0", "--batch-size", str(BATCH), "--steps", str(STEPS),
                   "--out", f"{folder}/run"] + os.environ.get("LATHE_ARGS", "").split()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        events = [json.loads(line) for line in open(f"{folder}/run/events.jsonl")]
        return [e["loss"] for e in events if e["event"] == "step"]


def main():
    torch.set_num_threads(2)
    lathe = sys.argv[1] if len(sys.argv) > 1 else None
    width = float(sys.argv[2]) if len(sys.argv) > 2 else 0.125
    for name, case in CASES.items():
        single, double = losses(case, width, torch.float32), losses(case, width, torch.float64)
        print(f'    {{"{name}",\n     {{{", ".join(f"{v:.9g}" for v in single)}}},\n     {{{", ".join(f"{v:.17g}" for v in double)}}}}},')
        if lathe:
            others = [single, with_one_thread(case, width), without_onednn(case, width)]
            print("  step  lathe       fp64        off by    PyTorch fp32 off by           allowed")
            for step, (ours, exact, *peers) in enumerate(zip(run_lathe(lathe, case, width), double, *others), 1):
                own = [abs(peer - exact) for peer in peers]
                allowed = 10 * max(own) + 1e-5 * abs(exact)
                print(f"  {step:4}  {ours:.8f}  {exact:.8f}  {abs(ours - exact):.1e}   {'  '.join(f'{o:.1e}' for o in own)}"
                      f"   {allowed:.1e}  {'ok' if abs(ours - exact) <= allowed else 'TOO FAR'}")


main()

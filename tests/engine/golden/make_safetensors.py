#!/usr/bin/env python3
"""Prints kGolden of tests/engine/safetensors_test.cpp: a tiny file written by Python's safetensors package.

pip install safetensors numpy; then: python3 make_safetensors.py"""
import numpy as np
from safetensors.numpy import save

data = save(
    {
        "features.0.weight": np.array([[1.0, -2.5], [0.1, 3.0]], np.float32),
        "step": np.array(7, np.int64),
        "half": np.array([1.5, -0.25, 65504.0], np.float16),
        "empty": np.zeros((0, 3), np.float32),
        "mask": np.array([True, False, True]),
        "ünï\"code": np.array([200, 10], np.uint8),
    },
    metadata={"classes": "apple\nbanana"},
)
print("constexpr unsigned char kGolden[] = {")
for i in range(0, len(data), 18):
    print("    " + " ".join(f"{b:d}," for b in data[i : i + 18]))
print("};")

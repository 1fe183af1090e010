#!/usr/bin/env python3
"""Prints the golden numbers of run_metrics_test.cpp: scikit-learn's figures and SciPy's Wilson intervals.

pip install scikit-learn scipy numpy; then: python3 golden_metrics.py"""
import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

# The same linear congruential generator as in the test.
state = 12345
def draw(n):
    global state
    state = (state * 1664525 + 1013904223) % 2**32
    return (state >> 16) % n

truth, predicted = [], []
for _ in range(200):
    t = draw(5)
    t = 0 if t == 3 else t                      # class 3 is absent from the truth
    truth.append(t)
    predicted.append(t if draw(3) else draw(4))  # class 4 is predicted only where it is true
print(confusion_matrix(truth, predicted, labels=range(5)).tolist())
p, r, f, s = precision_recall_fscore_support(truth, predicted, labels=range(5), zero_division=0)
for row in zip(p, r, f, s):
    print("{%.17g, %.17g, %.17g, %d}," % row)

for k, n in [(303, 329), (317, 329), (0, 10), (10, 10), (1, 1), (5, 10)]:
    ci = binomtest(k, n).proportion_ci(0.95, method="wilson")
    print("{%d, %d, %.17g, %.17g}," % (k, n, ci.low, ci.high))

confidence = np.array([(draw(1000) + 1) / 1000 for _ in range(100)], np.float32).astype(float)
correct = np.array([draw(4) > 0 for _ in range(100)])
edges = np.linspace(0, 1, 11)
ece = 0.0
for low, high in zip(edges[:-1], edges[1:]):
    inside = (confidence > low) & (confidence <= high)
    if inside.any():
        ece += inside.mean() * abs(correct[inside].mean() - confidence[inside].mean())
print("ece %.17g" % ece)

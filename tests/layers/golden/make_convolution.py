"""Prints the golden numbers of conv2d_test.cpp and linear_test.cpp, from PyTorch.

Tensors hold small integers by a formula that the tests repeat, so every result is exact in fp32.
"""
import torch
import torch.nn.functional as F


def ramp(*shape, modulus):
    n = torch.Size(shape).numel()
    return ((torch.arange(n) * 5 + 3) % modulus - modulus // 2).float().reshape(shape).requires_grad_()


def show(name, t):
    print(f"{name} {list(t.shape)}: {{{', '.join(str(int(v)) for v in t.detach().flatten())}}}")


for title, x, w, options in [
    ("plain", ramp(1, 2, 3, 4, modulus=11), ramp(2, 2, 2, 3, modulus=7), {"padding": (1, 0)}),
    ("grouped", ramp(1, 4, 4, 3, modulus=11), ramp(2, 2, 3, 2, modulus=7),
     {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2}),
]:
    y = F.conv2d(x, w, **options)
    y.backward(ramp(*y.shape, modulus=9))
    print(title)
    show("y", y), show("dx", x.grad), show("dw", w.grad)

x, w = ramp(2, 3, modulus=11), ramp(4, 3, modulus=7)
y = F.linear(x, w)
y.backward(ramp(*y.shape, modulus=9))
print("linear")
show("y", y), show("dx", x.grad), show("dw", w.grad)

"""Prints the PyTorch numbers that the tests of pooling, batch norm and cross-entropy hold (needs torch)."""
import torch
import torch.nn.functional as F

torch.set_printoptions(precision=7, linewidth=110)
x = torch.tensor([1., -2, 3, 0, 5, 4, -1, 2, 2, 7, -3, 1, 0, 6, -5]).reshape(1, 1, 3, 5)
dy = torch.arange(1., 7).reshape(1, 1, 2, 3)


def show(name, tensor):
    print(name, tuple(tensor.shape), [float(f"{v:.7g}") for v in tensor.flatten().tolist()])


def forward_and_gradient(name, function, gradient):
    leaf = x.clone().requires_grad_()
    y = function(leaf)
    show(name, y.detach())
    y.backward(gradient)
    show(name + " dx", leaf.grad)


forward_and_gradient("max_pool 3 s2 p1", lambda v: F.max_pool2d(v, 3, 2, 1), dy)
forward_and_gradient("avg_pool 3 s2 p1", lambda v: F.avg_pool2d(v, 3, 2, 1), dy)
forward_and_gradient("avg_pool 3 s2 p1 exclude",
                     lambda v: F.avg_pool2d(v, 3, 2, 1, count_include_pad=False), dy)
forward_and_gradient("avg_pool 2 s2 ceil", lambda v: F.avg_pool2d(v, 2, 2, ceil_mode=True), dy)
forward_and_gradient("avg_pool 2 s2 p1 ceil", lambda v: F.avg_pool2d(v, 2, 2, 1, ceil_mode=True),
                     torch.arange(1., 7).reshape(1, 1, 2, 3))
forward_and_gradient("adaptive 2x3", lambda v: F.adaptive_avg_pool2d(v, (2, 3)), dy)

data = torch.tensor([[1., 10], [2, 30], [4, -20], [8, 5]], requires_grad=True)
norm = torch.nn.BatchNorm1d(2)
with torch.no_grad():
    norm.weight.copy_(torch.tensor([2., -1]))
    norm.bias.copy_(torch.tensor([0.5, 1]))
y = norm(data)
show("batch_norm y", y.detach())
show("running_mean", norm.running_mean)
show("running_var", norm.running_var)
y.backward(torch.tensor([[1., 0], [0, 2], [-1, 1], [3, 0]]))
show("dx", data.grad)
show("dgamma", norm.weight.grad)
show("dbeta", norm.bias.grad)

logits = torch.tensor([[1., 2, -1], [0.5, -3, 4]], requires_grad=True)
loss = F.cross_entropy(logits, torch.tensor([2, 0]), label_smoothing=0.1, reduction="none")
show("cross_entropy", loss.detach())
loss.backward(torch.tensor([1., 0.5]))
show("dlogits", logits.grad)

# Prints the golden numbers of sgd_test.cpp and adam_test.cpp: three steps of PyTorch's optimisers on a
# three-element parameter with gradients that differ from step to step.
import torch

gradients = [[0.5, -1.25, 3.0], [0.25, 2.0, -0.125], [-0.75, 0.0, 1.5]]


def run(name, make):
    w = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))
    optimizer = make([w])
    for gradient in gradients:
        w.grad = torch.tensor(gradient)
        optimizer.step()
    print(name, "{%s}" % ", ".join("%.9g" % x for x in w.detach()))


run("sgd plain", lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.1))
run("sgd momentum", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01))
run("sgd nesterov", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.8, weight_decay=0.01, nesterov=True))
run("adam", lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.8, 0.99), eps=1e-3, weight_decay=0.1))
run("adamw", lambda p: torch.optim.AdamW(p, lr=0.01, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1))

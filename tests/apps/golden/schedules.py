# Prints the golden numbers of schedule_test.cpp from PyTorch's schedulers, stepped once an update.
import torch


def rates(make, count):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    scheduler = make(optimizer)
    result = []
    for _ in range(count):
        result.append("%.9g" % optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return "{%s}" % ", ".join(result)


lr = torch.optim.lr_scheduler
print("cosine", rates(lambda o: lr.CosineAnnealingLR(o, 10), 10))
print("step", rates(lambda o: lr.StepLR(o, 4, 0.5), 10))
print("onecycle", rates(lambda o: lr.OneCycleLR(o, 0.1, total_steps=20, cycle_momentum=False), 20))

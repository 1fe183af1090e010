// The oracle: Adam written plainly, each step in double.
#include <cmath>

#include "engine/runtime/host_step.h"
#include "layers/layer.h"

namespace lathe {
namespace {

struct Factors {
  double beta1, beta2, epsilon, decay;
  bool decoupled;
};

void step(const Factors& f, const Bindings& b, int64_t n) {
  double lr = *b.in<float>(4), scale = *b.in<float>(6), t = static_cast<double>(*b.in<int64_t>(5));
  if (std::isnan(scale)) return;
  double correction1 = 1 - std::pow(f.beta1, t), correction2 = 1 - std::pow(f.beta2, t);
  for (int64_t i = 0; i < n; ++i) {
    double g = b.in<float>(1)[i] * scale, p = b.out<float>(0)[i];
    if (f.decoupled) p -= lr * f.decay * p;
    if (!f.decoupled) g += f.decay * p;
    double m = f.beta1 * b.out<float>(1)[i] + (1 - f.beta1) * g;
    double v = f.beta2 * b.out<float>(2)[i] + (1 - f.beta2) * g * g;
    p -= lr * (m / correction1) / (std::sqrt(v / correction2) + f.epsilon);
    b.out<float>(0)[i] = static_cast<float>(p);
    b.out<float>(1)[i] = static_cast<float>(m);
    b.out<float>(2)[i] = static_cast<float>(v);
  }
}

const RegisterImplementation reference("adam", {"reference", only_f32, [](const Call& call, const Options&) {
                                                  const Attributes& a = call.attributes;
                                                  Factors factors{a.real("beta1"), a.real("beta2"),
                                                                  a.real("epsilon"), a.real("weight_decay"),
                                                                  a.integer("decoupled") != 0};
                                                  int64_t n = call.inputs[0].shape.elements();
                                                  return Prepared{[=](const Bindings& b) {
                                                    return host_step([=] { step(factors, b, n); });
                                                  }};
                                                }});

}  // namespace
}  // namespace lathe

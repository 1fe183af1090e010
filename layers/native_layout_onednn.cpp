#include <dnnl.hpp>

#include "layers/native_layout.h"

namespace lathe {

Layout native_layout() {
  // The effective set honours DNNL_MAX_CPU_ISA, so an older CPU can be tried on a newer one.
  auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  auto avx512 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (isa & avx512) == avx512 ? Layout::nchw16c : Layout::nchw8c;
}

}  // namespace lathe

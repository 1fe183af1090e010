// See library.h.
#include <cublasLt.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "kernels/study/library.h"

namespace lathe::study {
namespace {

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string("cuBLASLt: ") + cublasLtGetStatusString(status));
}

cudaDataType_t type_of(Element element) {
  return element == Element::fp32 ? CUDA_R_32F : element == Element::fp16 ? CUDA_R_16F : CUDA_R_16BF;
}

// cuBLASLt counts by columns: what is a row-major matrix [rows, columns] to us is its [columns, rows], so it is
// given Cᵀ = op(B)ᵀ · op(A)ᵀ, whose rows are the columns that have a bias each.
class Matmul {
 public:
  explicit Matmul(const LibraryGemm& p) {
    const cudaDataType_t type = type_of(p.element);
    check(cublasLtCreate(&handle_));
    check(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (p.epilogue) set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU_BIAS);
    const auto layout = [&](cublasLtMatrixLayout_t* made, int64_t rows, int64_t columns, int64_t leading) {
      check(cublasLtMatrixLayoutCreate(made, type, static_cast<uint64_t>(columns),
                                       static_cast<uint64_t>(rows), leading));
    };
    layout(&a_, p.transpose_a ? p.K : p.M, p.transpose_a ? p.M : p.K, p.lda);
    layout(&b_, p.transpose_b ? p.N : p.K, p.transpose_b ? p.K : p.N, p.ldb);
    layout(&c_, p.M, p.N, p.ldc);
    check(cublasLtMatmulPreferenceCreate(&preference_));
    check(cublasLtMatmulPreferenceSetAttribute(preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &kWorkspace, sizeof(kWorkspace)));
    if (cudaMalloc(&workspace_, kWorkspace) != cudaSuccess) throw std::bad_alloc();
    epilogue_ = p.epilogue;
  }
  ~Matmul() {
    cudaFree(workspace_);
    cublasLtMatmulPreferenceDestroy(preference_);
    for (cublasLtMatrixLayout_t layout : {a_, b_, c_}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(operation_);
    cublasLtDestroy(handle_);
  }
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  void launch(const void* A, const void* B, void* C, const void* bias, cudaStream_t stream) {
    if (epilogue_) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    if (!chosen_) {
      int found = 0;
      check(cublasLtMatmulAlgoGetHeuristic(handle_, operation_, b_, a_, c_, c_, preference_, 1, &algorithm_,
                                           &found));
      if (found == 0) throw std::runtime_error("cuBLASLt: has no algorithm for this problem");
      chosen_ = true;
    }
    const float one = 1, zero = 0;
    check(cublasLtMatmul(handle_, operation_, &one, B, b_, A, a_, &zero, C, c_, C, c_, &algorithm_.algo,
                         workspace_, kWorkspace, stream));
  }

 private:
  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
    check(cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof(value)));
  }

  static constexpr size_t kWorkspace = 32 << 20;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  cublasLtMatmulHeuristicResult_t algorithm_ = {};
  void* workspace_ = nullptr;
  bool epilogue_ = false, chosen_ = false;
};

}  // namespace

std::function<void(std::span<void* const>, cudaStream_t)> library_gemm(const LibraryGemm& problem) {
  auto matmul = std::make_shared<std::unique_ptr<Matmul>>();  // made when it is first launched
  return [=](std::span<void* const> at, cudaStream_t stream) {
    if (*matmul == nullptr) *matmul = std::make_unique<Matmul>(problem);
    (*matmul)->launch(at[0], at[1], at[2], at[3], stream);
  };
}

}  // namespace lathe::study

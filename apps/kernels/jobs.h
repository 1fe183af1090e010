// The child's side of tracing and timing (child.h): a job is a rung in one element type,
// "gemm/03_shared_tile:fp32". In a header because lathe_traced has it too.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <new>
#include <span>
#include <string>

#include "apps/kernels/protocol.h"
#include "kernels/study/study.h"

namespace lathe {

inline std::string job_name(const study::Rung& rung, study::Element element) {
  return rung.id() + ":" + std::string(study::name_of(element));
}

// Of each job: "begin"; for each trial "trial" with its shape, operations and least_bytes, then what `run`
// sends and "wrong" with the message that it returns, "" where nothing is; "end". A CUDA error stays: after
// one the rest is left to another process.
inline int run_jobs(std::span<const std::string> jobs, study::Purpose purpose,
                    const std::function<std::string(const study::Trial&)>& run) {
  const auto run_job = [&](const study::Rung& rung, study::Element element) {
    send("begin");
    for (const study::Trial& trial : rung.trials(purpose, element)) {
      send("trial",
           {{"shape", trial.shape}, {"operations", trial.operations}, {"least_bytes", trial.least_bytes}});
      try {
        send("wrong", {{"message", run(trial)}});
      } catch (const std::bad_alloc&) {
        send("out_of_memory", {{"what", trial.shape}});
        return false;
      } catch (const std::exception& refusal) {
        send("wrong", {{"message", refusal.what()}});
      }
      if (cudaDeviceSynchronize() != cudaSuccess) break;
    }
    send("end");
    return cudaDeviceSynchronize() == cudaSuccess;
  };
  for (const std::string& job : jobs) {
    bool known = false;
    for (const study::Rung& rung : study::rungs())
      for (study::Element element : rung.elements) {
        if (job != job_name(rung, element)) continue;
        known = true;
        if (!run_job(rung, element)) return 0;
      }
    if (known) continue;
    std::fprintf(stderr, "%s is no rung; lathe kernels trace starts this program\n", job.c_str());
    return 2;
  }
  return 0;
}

}  // namespace lathe

// What the files of every layer share: refusing types that do not fit, and small predicates over a Call.
#pragma once

#include <string>

#include "engine/graph/operation.h"
#include "engine/runtime/error.h"

namespace lathe {

// Throws Error(usage) "<node name>: <why>" unless `fits`.
inline void require(bool fits, const Call& call, const std::string& why) {
  if (!fits) throw Error(ExitCode::usage, call.name + ": " + why);
}

// For `supports`: empty where every floating-point operand is f32 (integer operands are the operation's own).
inline std::string only_f32(const Call& call) {
  for (const auto* types : {&call.inputs, &call.outputs}) {
    for (const Type& type : *types) {
      if (type.dtype == DType::f16 || type.dtype == DType::bf16)
        return "handles f32 only, not " + to_string(type);
    }
  }
  return "";
}

// For `supports`: empty where every operand is row-major (nchw).
inline std::string only_row_major(const Call& call) {
  for (const auto* types : {&call.inputs, &call.outputs}) {
    for (const Type& type : *types) {
      if (type.layout != Layout::nchw) return "handles nchw only, not " + to_string(type);
    }
  }
  return "";
}

}  // namespace lathe

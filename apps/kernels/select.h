// From the words of a command line to rungs of the ladders.
#pragma once

#include <string>
#include <vector>

#include "kernels/study/study.h"

namespace lathe {

// Accepts gemm, gemm/3, gemm/03_shared_tile, gemm/shared_tile and a rung's source file. Every rung once, in
// the ladders' order; no words: all. Throws Error(usage) with the nearest name.
std::vector<const study::Rung*> select_rungs(const std::vector<std::string>& words);

// Whether `word` names anything that select_rungs takes.
bool names_a_rung(const std::string& word);

// From the first line of its opening comment: "GEMM, rung 3: shared-memory tiles.  C = A · B" is
// "shared-memory tiles".
std::string title_of(const study::Rung& rung);
std::string elements_of(const study::Rung& rung);  // "fp16 bf16"

}  // namespace lathe

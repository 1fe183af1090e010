// See shared_arrays.h. The format is ELF's (System V ABI, chapter 4).
#include "hostcuda/trace/shared_arrays.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace hostcuda::trace {
namespace {

// What follows the function in "kernel<float>(float*, int)::tile".
std::string last_part(const char* symbol) {
  char* plain = abi::__cxa_demangle(symbol, nullptr, nullptr, nullptr);
  std::string name = plain != nullptr ? plain : symbol;
  std::free(plain);
  const size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

}  // namespace

std::vector<SharedArray> shared_arrays() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::vector<char> image{std::istreambuf_iterator<char>(file), {}};
  std::vector<SharedArray> arrays;
  if (image.size() < sizeof(Elf64_Ehdr) || std::memcmp(image.data(), ELFMAG, SELFMAG) != 0) return arrays;
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(image.data() + header->e_shoff);
  for (const Elf64_Shdr* section = sections; section != sections + header->e_shnum; ++section) {
    if (section->sh_type != SHT_SYMTAB) continue;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(image.data() + section->sh_offset);
    const char* names = image.data() + sections[section->sh_link].sh_offset;
    for (const Elf64_Sym* s = symbols; s != symbols + section->sh_size / sizeof(Elf64_Sym); ++s) {
      if (ELF64_ST_TYPE(s->st_info) != STT_TLS || s->st_shndx == SHN_UNDEF) continue;
      arrays.push_back({s->st_value, s->st_size, last_part(names + s->st_name)});
    }
  }
  std::sort(arrays.begin(), arrays.end(),
            [](const SharedArray& a, const SharedArray& b) { return a.offset < b.offset; });
  return arrays;
}

}  // namespace hostcuda::trace

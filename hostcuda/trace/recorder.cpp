// See recorder.h.
#include "hostcuda/trace/recorder.h"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>

#include "hostcuda/runtime/runtime.h"
#include "hostcuda/runtime/switches.h"
#include "hostcuda/trace/source_lines.h"

namespace hostcuda::trace {
namespace {

// A block's log is kept until a barrier; a kernel that makes more accesses than this in between is counted in
// part.
constexpr size_t kMostRecords = 64 << 20;

struct Program {
  const char* code = nullptr;
  std::vector<std::pair<const char*, size_t>> data;
  const char* thread_local_begin = nullptr;  // this CPU thread's static __shared__ arrays
  size_t thread_local_bytes = 0;
};

// The program itself is the first object in the list.
Program describe_program() {
  Program program;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        auto& program = *static_cast<Program*>(result);
        program.code = reinterpret_cast<const char*>(info->dlpi_addr);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type == PT_LOAD)
            program.data.emplace_back(program.code + header.p_vaddr, header.p_memsz);
          if (header.p_type != PT_TLS) continue;
          program.thread_local_begin = static_cast<const char*>(info->dlpi_tls_data);
          program.thread_local_bytes = header.p_memsz;
        }
        return 1;
      },
      &program);
  return program;
}

std::string text(uint3 v) { return fmt::format("({},{},{})", v.x, v.y, v.z); }

void add(Traffic& to, const Traffic& from) {
  to.requests += from.requests;
  to.lanes += from.lanes;
  to.bytes += from.bytes;
  to.moved += from.moved;
  to.ideal += from.ideal;
}

void add(Figures& to, const Figures& from) {
  add(to.global_load, from.global_load);
  add(to.global_store, from.global_store);
  add(to.shared_load, from.shared_load);
  add(to.shared_store, from.shared_store);
  to.atomics += from.atomics;
}

// One finding for a line of the source, though the compiler may have made several accesses of it; reads and
// writes apart.
void add(std::vector<Finding>& findings, const Finding& finding) {
  const auto verb = [](const Finding& f) { return f.message.substr(0, f.message.find(' ')); };
  for (Finding& other : findings) {
    if (finding.line == 0 || other.kind != finding.kind || other.line != finding.line ||
        other.file != finding.file || verb(other) != verb(finding))
      continue;
    other.count += finding.count;
    return;
  }
  findings.push_back(finding);
}

}  // namespace

Recorder* recorder = nullptr;

Recorder::Recorder() : shared_arrays_(shared_arrays()), logs_(kMaxThreads) {
  Program program = describe_program();
  code_ = program.code;
  for (auto [begin, bytes] : program.data) program_data_.push_back({begin, bytes});
}

void Recorder::launch_begins(const KernelInfo& kernel) {
  const auto same = [&](const std::unique_ptr<KernelRecord>& known) {
    const KernelTrace& t = known->trace;
    const uint3 a = t.grid, b = kernel.grid, c = t.block, d = kernel.block;
    return t.kernel == kernel.name && a.x == b.x && a.y == b.y && a.z == b.z && c.x == d.x && c.y == d.y &&
           c.z == d.z;
  };
  auto found = std::find_if(kernels_.begin(), kernels_.end(), same);
  if (found == kernels_.end()) {
    kernels_.push_back(std::make_unique<KernelRecord>());
    found = std::prev(kernels_.end());
    (*found)->trace.kernel = kernel.name;
    (*found)->trace.grid = kernel.grid;
    (*found)->trace.block = kernel.block;
  }
  kernel_ = found->get();
  ++kernel_->trace.launches;
  arrays_.clear();
  for (auto [begin, bytes] : device_arrays()) arrays_.push_back({begin, bytes});
  last_array_ = {};
  const ThreadOrder order = switches().thread_order();
  preempt_ = order.kind == ThreadOrder::preempt ? order.seed * 0x9e3779b97f4a7c15ull | 1 : 0;
}

void Recorder::launch_ends() { kernel_ = nullptr; }

void Recorder::block_begins(Block& threads, const KernelInfo& kernel, uint3 block) {
  block_ = &threads;
  block_index_ = block;
  const Program program = describe_program();
  thread_local_begin_ = program.thread_local_begin;
  thread_local_bytes_ = program.thread_local_bytes;
  shadow_.set_ranges({static_cast<const char*>(threads.arena()), kernel.shared_bytes},
                     {program.thread_local_begin, program.thread_local_bytes});
  shadow_.begin_block();
  for (int i = 0; i < threads.count(); ++i) logs_[static_cast<size_t>(i)].running = false;
  full_ = false;
  records_ = 0;
  KernelTrace& t = kernel_->trace;
  ++t.blocks;
  t.threads += threads.count();
  t.dynamic_shared_bytes = std::max(t.dynamic_shared_bytes, static_cast<int64_t>(kernel.shared_bytes));
}

void Recorder::flush_warps() {
  const int count = block_->count();
  for (int first = 0; first < count; first += kWarp) {
    kernel_->requests.add_warp(
        {&logs_[static_cast<size_t>(first)], static_cast<size_t>(std::min(kWarp, count - first))});
  }
  records_ = 0;
}

void Recorder::block_ends() {
  const Busy busy(busy_);
  flush_warps();
  KernelTrace& t = kernel_->trace;
  t.static_shared_bytes = std::max(t.static_shared_bytes, shadow_.static_bytes_touched());
  block_ = nullptr;
}

void Recorder::barrier() {
  const Busy busy(busy_);
  flush_warps();
  shadow_.barrier();
  ++kernel_->trace.barriers;
}

void Recorder::warp_barrier(int warp, unsigned int /*mask*/) {
  shadow_.warp_barrier(warp);
  ++kernel_->trace.warp_barriers;
}

bool Recorder::is_global(const char* address, size_t bytes) const {
  const auto inside = [&](const Range& range) {
    const auto at = static_cast<size_t>(address - range.begin);
    return at < range.bytes && bytes <= range.bytes - at;
  };
  if (inside(last_array_)) return true;
  auto after = std::upper_bound(arrays_.begin(), arrays_.end(), address,
                                [](const char* a, const Range& range) { return a < range.begin; });
  if (after == arrays_.begin()) return false;
  const Range& range = *std::prev(after);
  if (!inside(range)) return false;
  last_array_ = range;
  return true;
}

bool Recorder::between_arrays(const char* address) const {
  const auto offset = static_cast<size_t>(address - thread_local_begin_);
  auto after = std::upper_bound(shared_arrays_.begin(), shared_arrays_.end(), offset,
                                [](size_t o, const SharedArray& array) { return o < array.offset; });
  if (after == shared_arrays_.begin()) return !shared_arrays_.empty();
  --after;
  return offset >= after->offset + after->bytes;
}

bool Recorder::is_program_data(const char* address) const {
  return std::any_of(program_data_.begin(), program_data_.end(), [&](const Range& range) {
    return static_cast<size_t>(address - range.begin) < range.bytes;
  });
}

void Recorder::access(const void* pc, const void* pointer, size_t bytes, Access kind) {
  const size_t thread = current();
  ThreadLog& log = logs_[thread];
  const char* address = static_cast<const char*>(pointer);
  if (preempt_ != 0) {
    preempt_ ^= preempt_ << 13, preempt_ ^= preempt_ >> 7, preempt_ ^= preempt_ << 17;
    if ((preempt_ & 3) == 0) block_->yield();
  }
  const Busy busy(busy_);
  Space space = Space::shared;
  if (shadow_.holds(address)) {
    if (static_cast<size_t>(address - thread_local_begin_) < thread_local_bytes_ && between_arrays(address))
      wrong_address(pc, address, bytes, kind);
  } else {
    space = Space::global;
    if (!is_global(address, bytes)) {
      if (is_program_data(address)) return;  // __constant__ and literals: no traffic worth counting
      wrong_address(pc, address, bytes, kind);
    }
  }
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0) {
    const std::string message = fmt::format("{} of {} bytes at an address that {} does not divide",
                                            kind == Access::read ? "read" : "write", bytes, bytes);
    find(Kind::misaligned, pc, message);
    busy_ = false;
    block_->abandon(Failure::wrong_access, message);
  }
  if (space == Space::shared) {
    if (auto conflict = shadow_.access(address, bytes, kind, static_cast<int>(thread))) {
      const std::string other = conflict->other >= 0 && static_cast<size_t>(conflict->other) != thread
                                    ? "thread " + text(block_->thread_index(conflict->other))
                                    : "other threads";
      switch (conflict->kind) {
        case Kind::race:
          find(Kind::race, pc,
               fmt::format("{} shared memory that {} {} with no barrier between",
                           kind == Access::read ? "reads" : "writes", other,
                           conflict->other_wrote ? "wrote" : "read"));
          break;
        case Kind::unfinished_copy:
          find(Kind::unfinished_copy, pc,
               fmt::format(
                   "{} what cp.async may not have finished: the copying thread has to wait for it, and a "
                   "barrier after that wait if it is another",
                   kind == Access::read ? "reads" : "writes"));
          break;
        default:
          find(Kind::uninitialised, pc, "reads shared memory that no thread of the block has written");
      }
    }
  }
  if (full_) return;
  log.path.push_back(offset(pc) | ThreadLog::kAccess);
  log.records.push_back(
      {reinterpret_cast<uint64_t>(address), offset(pc), static_cast<uint8_t>(bytes), kind, space});
  full_ = ++records_ >= kMostRecords;
  if (full_) find(Kind::other, pc, "too many accesses to write down: the figures are of a part of the block");
}

void Recorder::copy_begins(const void* /*pc*/, void* to, size_t bytes) {
  if (shadow_.holds(to)) shadow_.copy_begins(static_cast<const char*>(to), bytes);
}

void Recorder::copy_ends(void* to, size_t bytes) {
  if (shadow_.holds(to)) shadow_.copy_ends(static_cast<const char*>(to), bytes, static_cast<int>(current()));
}

// As on a GPU, the kernel ends here.
void Recorder::wrong_address(const void* pc, const char* address, size_t bytes, Access kind) {
  auto after = std::upper_bound(arrays_.begin(), arrays_.end(), address,
                                [](const char* a, const Range& range) { return a < range.begin; });
  std::string where = "far from every array";
  constexpr ptrdiff_t kNear = 1 << 20;
  if (after != arrays_.end() && after->begin - address < kNear) {
    where = fmt::format("{} bytes before an array of {} bytes", after->begin - address, after->bytes);
  }
  if (after != arrays_.begin()) {
    const Range& before = *std::prev(after);
    const ptrdiff_t past = address - (before.begin + before.bytes);
    if (past < kNear)
      where = fmt::format("at byte {} of an array of {} bytes", address - before.begin, before.bytes);
  }
  if (address >= static_cast<const char*>(block_->arena()) &&
      address < static_cast<const char*>(block_->arena()) + kMaxDynamicShared) {
    where = fmt::format("at byte {} of {} bytes of dynamic shared memory",
                        address - static_cast<const char*>(block_->arena()), block_->arena_bytes());
  }
  if (shadow_.holds(address)) {
    const auto offset = static_cast<size_t>(address - thread_local_begin_);
    for (const SharedArray& array : shared_arrays_) {
      if (array.offset + array.bytes <= offset)
        where = fmt::format("{} bytes behind the end of the shared array {} of {} bytes",
                            offset - array.offset - array.bytes, array.name, array.bytes);
    }
  }
  const std::string message =
      fmt::format("{} {} bytes {}", kind == Access::read ? "reads" : "writes", bytes, where);
  find(Kind::out_of_bounds, pc, message);
  busy_ = false;  // abandoned code runs no destructors
  block_->abandon(Failure::wrong_access, message);
}

void Recorder::find(Kind kind, const void* pc, const std::string& message) {
  auto [it, fresh] = kernel_->findings.try_emplace({kind, offset(pc)});
  Finding& finding = it->second;
  if (!fresh) {
    ++finding.count;
    return;
  }
  const SourceLine line = line_of_call(pc);
  finding = {kind,      message,      line.file,
             line.line, block_index_, block_->thread_index(static_cast<int>(current())),
             1};
}

void Recorder::fails(Failure failure, int thread, Site site, const std::string& message) {
  if (failure == Failure::wrong_access) return;  // told already
  const Kind kind = failure == Failure::divergent_barrier      ? Kind::divergent_barrier
                    : failure == Failure::wrong_warp_operation ? Kind::wrong_warp_operation
                                                               : Kind::other;
  auto [it, fresh] = kernel_->findings.try_emplace({kind, static_cast<Pc>(site.line)});
  if (!fresh) return;
  it->second = {kind, message, site.file, site.line, block_index_, block_->thread_index(thread), 1};
}

std::vector<KernelTrace> Recorder::take() {
  std::vector<KernelTrace> traces;
  for (auto& record : kernels_) {
    KernelTrace& t = record->trace;
    const Requests& requests = record->requests;
    std::map<std::pair<std::string, int>, Figures> lines;
    for (const auto& [pc, figures] : requests.figures) {
      add(t.figures, figures);
      const SourceLine line = line_of_call(code_ + pc);
      add(lines[{line.file, line.line}], figures);
    }
    for (auto& [line, figures] : lines) t.lines.push_back({line.first, line.second, figures});
    for (auto& [key, finding] : record->findings) add(t.findings, finding);
    if (requests.lanes != 0)
      t.idle_lanes = static_cast<double>(requests.idle) / static_cast<double>(requests.lanes);
    if (requests.records != 0)
      t.unpaired = static_cast<double>(requests.unpaired) / static_cast<double>(requests.records);
    traces.push_back(std::move(t));
  }
  kernels_.clear();
  return traces;
}

}  // namespace hostcuda::trace

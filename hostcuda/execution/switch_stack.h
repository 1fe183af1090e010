// The switch from one stack to another: what the speed of barriers depends on.
#pragma once

#include <cstddef>

#ifndef __x86_64__
#include <boost/context/detail/fcontext.hpp>
#endif

namespace hostcuda {

using StackPosition = void*;  // of a stack that was left, or was prepared

#ifdef __x86_64__

// Leaves this stack, noting where in *from, and goes on where `to` was left. Returns when somebody comes
// back. Instead of saving registers it declares them lost, so that the compiler saves those that hold
// something. The return address is jumped to, because returning from another function than was called
// mispredicts.
inline __attribute__((always_inline)) void switch_stack(StackPosition* from, StackPosition to) {
  asm volatile(
      "pushq %%rbp\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rax\n\t"
      "movq %%rsp, (%0)\n\t"
      "movq %1, %%rsp\n\t"
      "popq %%rax\n\t"
      "jmpq *%%rax\n\t"
      "1:\n\t"
      "popq %%rbp\n\t"
      : "+D"(from), "+S"(to)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
        "xmm14", "xmm15", "memory", "cc");
}

// Defines the function with the assembly name `name`: it calls `name`_body, which may change stacks, and then
// jumps to its caller. A CPU predicts that a return goes to the latest call; but threads that wait at
// different barriers of a loop come back to another call than the one before, and each return would mispredict.
// clang-format off
#define HOSTCUDA_RETURN_BY_JUMP(name)                                                 \
  asm(".text; .p2align 4; .globl " name "; .type " name ", @function\n"               \
      name ": .cfi_startproc\n"                                                       \
      "subq $8, %rsp; .cfi_adjust_cfa_offset 8\n"                                     \
      "call " name "_body\n"                                                          \
      "addq $8, %rsp; .cfi_adjust_cfa_offset -8\n"                                    \
      "popq %r11; .cfi_adjust_cfa_offset -8; .cfi_register %rip, %r11\n"              \
      "jmpq *%r11\n"                                                                  \
      ".cfi_endproc; .size " name ", . - " name "\n")
// clang-format on

// A stack on which `entry` starts when it is switched to. `top` is aligned to 64 bytes.
inline StackPosition prepare_stack(char* top, size_t /*bytes*/, void (*entry)()) {
  auto** words = reinterpret_cast<void**>(top) - 2;
  words[1] = nullptr;  // where a return address would be: entry does not return
  words[0] = reinterpret_cast<void*>(entry);
  return words;
}

#else

inline void switch_stack(StackPosition* from, StackPosition to) {
  auto arrival = boost::context::detail::jump_fcontext(to, from);
  *static_cast<StackPosition*>(arrival.data) = arrival.fctx;
}

#define HOSTCUDA_RETURN_BY_JUMP(name) asm(".globl " name "\n.set " name ", " name "_body\n")

inline StackPosition prepare_stack(char* top, size_t bytes, void (*entry)()) {
  static thread_local void (*start)() = nullptr;
  start = entry;
  return boost::context::detail::make_fcontext(top, bytes, [](boost::context::detail::transfer_t arrival) {
    *static_cast<StackPosition*>(arrival.data) = arrival.fctx;
    start();
  });
}

#endif

}  // namespace hostcuda

# The architectures for which sonde translates, by their folders in arch/. For each NAME:
#   NAME_LLVM_TARGET        LLVM's name of its back end
#   NAME_TRIPLE             LLVM's name of the processor
#   NAME_HOST_CODE_OPTIONS  clang's options for the routines of host code
#   NAME_BPF_MACRO          the macro by which C for BPF programs chooses it in this folder
# The one for which sonde is built:
#   SONDE_ARCHITECTURE      its folder
#   SONDE_DEBIAN_ARCHITECTURE  Debian's name of the processor
set(SONDE_ARCHITECTURES x86_64 arm64)

set(x86_64_LLVM_TARGET X86)
set(x86_64_TRIPLE x86_64-pc-linux-gnu)
set(x86_64_HOST_CODE_OPTIONS "")
set(x86_64_BPF_MACRO __TARGET_ARCH_x86)

set(arm64_LLVM_TARGET AArch64)
set(arm64_TRIPLE aarch64-unknown-linux-gnu)
# By default, clang calls functions of the compiler's library for atomic operations. The loader of host code does not know them.
set(arm64_HOST_CODE_OPTIONS -mno-outline-atomics)
set(arm64_BPF_MACRO __TARGET_ARCH_arm64)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(SONDE_ARCHITECTURE x86_64)
  set(SONDE_DEBIAN_ARCHITECTURE amd64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(SONDE_ARCHITECTURE arm64)
  set(SONDE_DEBIAN_ARCHITECTURE arm64)
else()
  message(FATAL_ERROR "sonde does not support the processor ${CMAKE_SYSTEM_PROCESSOR}: expected x86_64 or aarch64")
endif()

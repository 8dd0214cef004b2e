# The toolchain of traced programs for another processor: SONDE_CROSS in Linux's words, SONDE_GO_ARCHITECTURE in Go's. SONDE_SYSROOT is the
# tree of `scripts/sysroot ARCHITECTURE programs`, for the languages whose libraries do not come with Debian's cross compiler.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SONDE_CROSS SONDE_GO_ARCHITECTURE SONDE_SYSROOT)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${SONDE_CROSS})
set(triple ${SONDE_CROSS}-linux-gnu)
set(CMAKE_C_COMPILER ${triple}-gcc)
set(CMAKE_CXX_COMPILER ${triple}-g++)
foreach(language C CXX)
  set(CMAKE_${language}_FLAGS_INIT "-idirafter ${SONDE_SYSROOT}/usr/include/${triple}") # sys/sdt.h
endforeach()
set(clang_options --target=${triple} --sysroot=${SONDE_SYSROOT} -fuse-ld=lld)
set(TRIGGER_GCC ${triple}-gcc CACHE STRING "")
set(TRIGGER_GXX ${triple}-g++ CACHE STRING "")
set(TRIGGER_CLANG clang-19 ${clang_options} CACHE STRING "")
set(TRIGGER_CLANGXX clang++-19 ${clang_options} CACHE STRING "")
set(TRIGGER_LIBCXX_COMPILER clang++-19 ${clang_options} CACHE STRING "")
set(TRIGGER_GO_ENVIRONMENT GOARCH=${SONDE_GO_ARCHITECTURE} CACHE STRING "")
set(TRIGGER_RUSTC /usr/bin/rustc --target ${SONDE_CROSS}-unknown-linux-gnu --sysroot ${SONDE_SYSROOT}/usr -C linker=${triple}-gcc CACHE STRING "")

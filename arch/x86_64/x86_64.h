// x86-64, and i386: programs that run in the 32-bit mode of x86-64 processors.
//
// The registers of i386 programs have the numbers of x86-64, because that is how the kernel saves them: ebx has the
// number of rbx.
#pragma once

#include "arch/architecture.h"

namespace sonde {

const Architecture& x86_64_architecture();
const Architecture& i386_architecture();

} // namespace sonde

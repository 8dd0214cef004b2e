// The registers of call frame information, and of the frames of signal handlers.
#pragma once

#include "arch/x86_64/cfi_width.h"

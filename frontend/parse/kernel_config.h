// The configuration that a kernel was built with, for %( CONFIG_X == "y" %? ... %).
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace sonde {

using KernelConfig = std::map<std::string, std::string>;

// CONFIG_X=y lines to CONFIG_X -> "y"; quotes of strings are dropped, everything else is skipped.
KernelConfig parse_kernel_config(const std::string& text);

// A kernel's, from the places where distributions keep it for `release`, below the folder `root`; the running one's
// also from /proc/config.gz. Errors: nowhere.
Result<KernelConfig> read_kernel_config(const std::string& release, bool is_running = true,
                                        const std::string& root = "");

} // namespace sonde

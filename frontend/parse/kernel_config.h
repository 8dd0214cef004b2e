// The configuration that a kernel was built with, for conditionals such as `%( CONFIG_X == "y" %? ... %)`.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace sonde {

// Maps option names to values: CONFIG_X -> "y".
using KernelConfig = std::map<std::string, std::string>;

// Parses lines such as `CONFIG_X=y`. Removes the quotes around strings and skips all other lines.
KernelConfig parse_kernel_config(const std::string& text);

// Reads the configuration of the kernel `release` from the files where distributions store it, in the directory tree
// `root`. For the running kernel it also tries /proc/config.gz. Fails if no file exists.
Result<KernelConfig> read_kernel_config(const std::string& release, bool is_running = true,
                                        const std::string& root = "");

} // namespace sonde

// How uprobes look in the memory of a process, and how its mappings of a file are recognized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/process_maps.h"

namespace sonde {

// Whether the bytes begin with the breakpoint of a uprobe.
bool is_breakpoint(std::string_view found);

// Since Linux 6.18 the kernel of x86-64 replaces a probed 5-byte nop by a call of a page that it has mapped. No other
// architecture has instructions of this size.
constexpr char kernels_call = '\xe8';
constexpr size_t kernels_call_length = 5;

// Returns whether `found`, the bytes at an address of the process with these mappings, are this call.
bool is_call_of_kernel(const std::vector<ProcessMapping>& mappings, const std::string& found, uint64_t address);

// Returns the device and inode of a file as /proc/PID/maps shows them. On some file systems (btrfs, overlayfs) fstat()
// returns other numbers, so this maps the file and reads the process' own maps.
std::optional<std::pair<uint64_t, uint64_t>> numbers_of(int fd);

} // namespace sonde

// Calls of BPF's helpers in the script's C.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <llvm/IR/Instructions.h>

namespace sonde {

// The helper's number, where a call is one of a helper.
std::optional<uint64_t> helper_number(const llvm::CallBase& call);

// The helper's name in the prelude; empty: scripts do not have it.
std::string helper_name(uint64_t number);

// Whether the prelude has a helper of that name.
bool is_helper(std::string_view name);

// An argument that is memory, with the argument that says how many bytes: -1 if that is `bytes`.
struct HelperMemory {
    unsigned pointer;
    int size;
    bool is_written;
};
std::vector<HelperMemory> helper_memory(uint64_t number);

} // namespace sonde

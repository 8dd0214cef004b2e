// Calls of BPF helpers in the script's C.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <llvm/IR/Instructions.h>

namespace sonde {

// The helper's number; nullopt if the call is not one of a helper.
std::optional<uint64_t> helper_number(const llvm::CallBase& call);

// The helper's name in the prelude; "" if scripts cannot call it.
std::string helper_name(uint64_t number);

// Whether the prelude has a helper with this name.
bool is_helper(std::string_view name);

// A helper's argument that points to memory, and the argument with the memory's size.
struct HelperMemory {
    unsigned pointer;
    int size;
    bool is_written;
};
// The arguments of this helper that point to memory.
std::vector<HelperMemory> helper_memory(uint64_t number);

} // namespace sonde

// Stacks that are keys of arrays and are shared by processes.
//
// The maps are filled by handlers (codegen/rtlib/shared_stack.bpf.c) and read here. Both sides compute the identity of
// a text in the same way: the text is padded with NULs to MAXSTRINGLEN, and its 64-bit words go into sonde_identify(),
// one after the other.
//
// If another text has the same identity, or the maps were full, the text is not found. The caller then searches the
// address in all processes.
#include "runtime/symbols/shared_stacks.h"
#include "runtime/plan/object_names.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cstring>

#include "runtime/plan/stack.h"

namespace sonde {

void SharedStacks::begin(const KernelObject& kernel, uint64_t max_string) {
    bpf_map_info info{};
    uint32_t size = sizeof info;
    shared_ = kernel.map_fd(plan::maps::shared);
    owners_ = kernel.map_fd(plan::maps::owners);
    max_string_ = max_string;
    if (shared_ < 0 || bpf_obj_get_info_by_fd(shared_, &info, &size) != 0 ||
        info.value_size < max_string + sizeof(sonde_shared))
        shared_ = -1;
    value_size_ = info.value_size;
}

// Two lookups: the text leads to the stack's identity (sonde_owners), and the identity to its process and places
// (sonde_shared).
std::optional<SharedStacks::Stack> SharedStacks::find(const std::string& text) const {
    if (shared_ < 0 || text.empty() || text.size() >= max_string_)
        return std::nullopt;
    std::vector<uint64_t> words(max_string_ / 8);
    std::memcpy(words.data(), text.data(), text.size());
    sonde_identity of_text{}, stack{};
    for (const uint64_t word : words)
        sonde_identify(&of_text, word);
    std::vector<char> value(value_size_);
    if (bpf_map_lookup_elem(owners_, &of_text, &stack) != 0 || bpf_map_lookup_elem(shared_, &stack, value.data()) != 0)
        return std::nullopt;
    // If two processes recorded the same stack at the same time, only one of their texts was stored.
    if (strnlen(value.data(), max_string_) != text.size() || std::memcmp(value.data(), text.data(), text.size()) != 0)
        return std::nullopt;
    sonde_shared head{};
    const char* at = value.data() + max_string_;
    std::memcpy(&head, at, sizeof head);
    const uint64_t room = (value_size_ - max_string_ - sizeof head) / sizeof(uint64_t[2]);
    Stack out{head.process, {}};
    for (uint64_t i = 0; i < std::min<uint64_t>(head.depth, room); i++) {
        uint64_t place[2];
        std::memcpy(place, at + sizeof head + i * sizeof place, sizeof place);
        out.places.push_back({place[0], place[1]});
    }
    return out;
}

} // namespace sonde

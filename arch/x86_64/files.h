// What files for x86-64 contain: relocations (System V psABI, section 4.4.1) and entries of the procedure linkage table
// (section 5.2).
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "arch/architecture.h"

namespace sonde::x86 {

std::span<const PltSection> plt_sections();
std::optional<uint64_t> plt_slot(std::string_view code, uint64_t address);
DynamicRelocation dynamic_relocation(uint32_t type);
ObjectRelocation object_relocation(uint32_t type);
Relocated relocate(const CodeRelocation& relocation);
// endbr64; mov 0x8(%rax),%rax; ret
constexpr DescriptorCode descriptor_code{
    .first = 0xfa1e0ff3, .first_mask = 0xffffffff, .code = 0xc308408b48, .mask = 0xffffffffff};

} // namespace sonde::x86

// What files for arm64 contain: relocations (ELF for the Arm 64-bit Architecture, section 5.7), entries of the
// procedure linkage table, and calls that are too far for the call instruction.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "arch/architecture.h"

namespace sonde::arm64 {

std::span<const PltSection> plt_sections();
std::optional<uint64_t> plt_slot(std::string_view code, uint64_t address);
DynamicRelocation dynamic_relocation(uint32_t type);
ObjectRelocation object_relocation(uint32_t type);
Relocated relocate(const CodeRelocation& relocation);
// A stub jumps to any address.
constexpr size_t call_stub_size = 16;
void write_call_stub(uint8_t* place, uint64_t target);
// bti c or nop, which are hints; ldr x0, [x0, #8]; ret
constexpr DescriptorCode descriptor_code{
    .first = 0xd503201f, .first_mask = 0xfffff01f, .code = 0xd65f03c0f9400400, .mask = ~uint64_t{0}};

} // namespace sonde::arm64

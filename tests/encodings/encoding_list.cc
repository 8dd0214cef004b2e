#include "tests/encodings/encoding_list.h"

#include <cpuid.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>

namespace encodings {
namespace {

std::vector<uint8_t> unhex(std::string_view text) {
    std::vector<uint8_t> bytes;
    for (size_t at = 0; at + 1 < text.size(); at += 2)
        bytes.push_back(static_cast<uint8_t>(std::stoi(std::string(text.substr(at, 2)), nullptr, 16)));
    return bytes;
}

// QEMU without KVM.
bool is_emulated_processor() {
    unsigned a, b, c, d;
    __cpuid(0x40000000, a, b, c, d);
    return b == 0x54474354; // "TCGT"
}

// Whether QEMU 7.2 emulates an instruction wrongly. It reads the stack with the kernel's rights for instructions that
// may change the code segment, and then no kernel survives on a processor with SMAP. Some unknown instructions crash
// QEMU. It takes XOP for other instructions. For double shifts, it misses an operand relative to the instruction
// pointer by a byte.
bool confuses_emulator(std::string_view space, std::string_view text) {
    constexpr std::array<std::string_view, 6> names = {"lret", "iret", "lcall", "ljmp", "shld", "shrd"};
    return space == "xop" || (text == "(unknown)" && space != "evex") ||
           std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return text.find(name) != std::string_view::npos; });
}

// The fields of a line.
std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> fields;
    std::stringstream input(line);
    for (std::string field; std::getline(input, field, '\t');)
        fields.push_back(field);
    return fields;
}

} // namespace

std::vector<Instruction> read_encodings(const char* path, std::vector<uint8_t>& code) {
    const bool is_emulated = is_emulated_processor();
    std::vector<Instruction> instructions;
    std::ifstream input(path);
    std::string line;
    size_t slot = 0;
    constexpr size_t slots_of_page = page_size / slot_size;
    while (std::getline(input, line)) {
        const std::vector<std::string> fields = split(line);
        if (fields.size() != 7)
            continue;
        Instruction instruction;
        instruction.bytes = unhex(fields[0]);
        const std::string &relative = fields[1], &text = fields[6];
        if (fields[2] == "x") {
            slot = slot / slots_of_page * slots_of_page + slots_of_page;
            instruction.offset = slot * slot_size - std::max<size_t>(1, instruction.bytes.size() / 2);
            ++slot;
        } else {
            instruction.offset = slot++ * slot_size + in_slot;
        }
        if (relative != "-") {
            const uint64_t target = relative.back() == '+'   ? after_at + 0x400
                                    : relative.back() == '-' ? before_at + 0x400
                                                             : hole_at + 0x400;
            const auto distance =
                static_cast<uint32_t>(target - (code_at + instruction.offset + instruction.bytes.size()));
            memcpy(instruction.bytes.data() + std::stoul(relative), &distance, 4);
        }
        const auto has = [&text](std::initializer_list<std::string_view> parts) {
            return std::ranges::any_of(parts, [&text](std::string_view part) { return text.find(part) != text.npos; });
        };
        instruction.is_random = has({"rdtsc", "rdpid", "rdpru", "rdrand", "rdseed"});
        instruction.loads_base =
            has({"lfs", "lgs", "wrfsbase", "wrgsbase"}) || text.ends_with("%fs") || text.ends_with("%gs");
        instruction.stores_unit = is_emulated && has({"stenv", "save"});
        instruction.is_call = has({"callq", "lcall"});
        instruction.is_system_call = text.find("syscall") != text.npos;
        instruction.is_skipped = is_emulated && confuses_emulator(fields[3], text);
        code.resize((slot + 2) * slot_size, hlt);
        std::copy(instruction.bytes.begin(), instruction.bytes.end(),
                  code.begin() + static_cast<ptrdiff_t>(instruction.offset));
        instructions.push_back(std::move(instruction));
    }
    code.resize((code.size() / page_size + 2) * page_size, hlt);
    return instructions;
}

} // namespace encodings

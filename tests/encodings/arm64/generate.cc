// Lists instructions of arm64, for tests/instructions.
//
//   generate [--few|--all]
//
// For each row of arch/arm64/encodings.def, random words are given to LLVM's disassembler. The list gets a few words
// for each row, mnemonic and form of the operands. Words that LLVM does not know are taken as well, because a kernel
// decides about them, too. The columns are those of the other lists (tests/encodings/encoding_list.h).
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include "tests/fuzz/arm64_llvm.h"

namespace {

struct Row {
    uint32_t value, mask;
    const char* kind;
};

constexpr Row rows[] = {
#define ENCODING(value, mask, operands, kind) {value, mask, #kind},
#include "arch/arm64/encodings.def"
#undef ENCODING
};

// The text without the numbers of registers and without the digits of constants.
std::string form_of(std::string_view text) {
    std::string out;
    for (const char c : text)
        if ((c < '0' || c > '9') && c != '-')
            out += c;
    return out;
}

// Instructions after which the child cannot go on: they change the mode of vectors, or the address of thread-local
// storage. x17 is the register of the test's own jumps.
bool is_excluded(std::string_view text) {
    for (const std::string_view part : {"smstart", "smstop", "SVCR", "svcr", "TPIDR_EL0", "17"})
        if (text.find(part) != std::string_view::npos)
            return true;
    return false;
}

void print(uint32_t word, const char* kind, const std::string& text) {
    std::string shown = text.empty() ? "(unknown)" : text;
    const std::string mnemonic = shown.substr(0, shown.find('\t'));
    for (char& c : shown)
        c = c == '\t' ? ' ' : c;
    uint8_t bytes[sizeof word];
    std::memcpy(bytes, &word, sizeof word);
    printf("%02x%02x%02x%02x\t-\t.\t%s\t%s\t%08x\t%s\n", bytes[0], bytes[1], bytes[2], bytes[3], kind, mnemonic.c_str(),
           word, shown.c_str());
}

} // namespace

int main(int count, char** arguments) {
    const std::string_view extent = count > 1 ? arguments[1] : "";
    const size_t most = extent == "--few" ? 1 : extent == "--all" ? 8 : 3;
    const int tries = extent == "--few" ? 1500 : 6000;
    sonde::Arm64Llvm llvm;
    std::mt19937 random(30);
    std::map<std::string, size_t> listed;
    std::set<uint32_t> words;
    // Literals that lead to memory, in registers that the test compares.
    for (const uint32_t word : {0x1c000200U, 0x5c000201U, 0x9c000202U, 0x58000200U, 0x98000200U, 0xd8000200U}) {
        words.insert(word);
        print(word, "Literal", llvm.text(word));
    }
    for (const Row& row : rows)
        for (int i = 0; i < tries; i++) {
            uint32_t word = row.value | (static_cast<uint32_t>(random()) & ~row.mask);
            const std::string text = llvm.text(word);
            if (is_excluded(text) || !words.insert(word).second)
                continue;
            if (listed[row.kind + (text.empty() ? std::to_string(&row - rows) : form_of(text))]++ < most)
                print(word, row.kind, text);
        }
    return 0;
}

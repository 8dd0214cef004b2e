// The file of an interpreter: its symbols, its data and its code, as they are linked.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/architecture.h"
#include "base/elf_file.h"

namespace sonde {

class InterpreterFile {
  public:
    using Range = std::pair<uint64_t, uint64_t>; // begin and end
    struct Symbol {
        uint64_t address = 0, size = 0;
    };

    // `file` must exist as long as this object.
    explicit InterpreterFile(const ElfFile& file)
        : file_(file), architecture_(architecture_of(file.machine(), file.is_32_bit())) {}

    const ElfFile& elf() const { return file_; }
    // Null if sonde does not know it.
    const Architecture* architecture() const { return architecture_; }

    // Finds the symbols that the file defines. Those that it does not define are left unchanged.
    void find(std::initializer_list<std::pair<std::string_view, Symbol*>> wanted) const;

    // Returns the segment with the code at the address. Null if there is none.
    const ElfSegment* code_at(uint64_t address) const;
    // Returns the bytes at the address: fewer if the section ends earlier, and none if it is not in the file.
    std::string data(uint64_t address, size_t size) const;

    // Decodes the instructions of a function in a straight line. `visit` takes an Instruction and the address of the
    // next one, and returns false to end this.
    template <typename Visit> void follow(Symbol function, const Visit& visit) const {
        if (!architecture_)
            return;
        const std::string code = data(function.address, function.size);
        for (size_t at = 0; at < code.size();) {
            const auto one = architecture_->decode(std::string_view(code).substr(at));
            if (!one || !visit(*one, function.address + at + one->length))
                return;
            at += one->length;
        }
    }

    // Returns the functions, or parts of functions, that contain any of the addresses, by the table for unwinding.
    std::vector<Range> functions_with(const std::vector<uint64_t>& addresses) const;

  private:
    const ElfFile& file_;
    const Architecture* architecture_;
};

} // namespace sonde

// Frames of interpreters in stacks: what handlers need to find them, and the text of their words
// (plan/interpreted_stack.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/elf_file.h"
#include "runtime/load/load.h"
#include "runtime/plan/language_runtimes.h"
#include "runtime/symbols/unwind_rules.h"

namespace sonde {

// Marks the rules of the interpreter's loop. `ranges` are its addresses, as linked.
void mark_loop(UnwindRules& rules, const std::vector<std::pair<uint64_t, uint64_t>>& ranges);

// Replaces the rules of code without tables for unwinding whose functions all keep a frame pointer.
void use_frame_pointers(UnwindRules& rules, const std::pair<uint64_t, uint64_t>& range);

// A frame of an interpreter. Texts of the program have no characters that control a terminal.
struct InterpretedFrame {
    sonde_language language = SONDE_LANGUAGES;
    std::string function; // qualified from Python 3.11 on
    std::string file;     // "": the frame could not be read, or has no file
    uint64_t line = 0;    // 0: unknown
    // "file.py:12", with or without the folder; "" without a file.
    std::string place(bool with_folder) const;
};
// The language in JSON and in profiles: "python".
const char* language_id(sonde_language language);

// The interpreters of a session, and the names that handlers have stored. The kernel object must outlive the object.
class InterpretedFrames {
  public:
    // `pythons`: the number of elements of the map of Python's interpreters that are in use already.
    void begin(const KernelObject& kernel, uint32_t pythons);
    // Tells handlers about the interpreter in a file, and marks its loop in `rules`. An interpreter that sonde does not
    // support causes a warning.
    struct Interpreter {
        uint32_t number = 0; // SONDE_TABLE_INTERPRETER(); 0: the file has none
        uint32_t loop = 0;   // the loop's address, as linked
    };
    Interpreter add(const ElfFile& file, const std::string& path, UnwindRules& rules);
    // Describes a word. Nothing: it is another address.
    std::optional<InterpretedFrame> describe(uint64_t word);
    // The same in a sonde_symbol_style.
    std::optional<std::string> text(uint64_t word, uint64_t style);

  private:
    struct Interpreters {
        int map = -1;
        uint32_t count = 0;
        bool told = false; // that there are too many
    };
    std::array<Interpreters, SONDE_LANGUAGES> interpreters_;
    int names_ = -1;                                       // map
    std::unordered_map<uint32_t, InterpretedFrame> known_; // by the number of the name; without lines
};

} // namespace sonde

// What `argstr` says: the arguments of a system call as one would write them.
//
// The items of a call's text stand in its row (frontend/probes/syscalls.def): a letter or a function of the library for
// each argument. Where a handler is for a few calls, each call's text becomes an expression of its own. 350 of these
// were 350 programs of 400 instructions, three seconds of LLVM's work and two of the kernel's verifier. So where a
// handler is for many calls, the rows stay data: one function makes any item by its number, another one any call's text
// by a word that lists its items, and all calls have the same handler, which gives them the number of the call.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "frontend/hir/hir.h"

namespace sonde {

struct Binding;

// One item of a call's text.
struct TextItem {
    std::string what;              // a letter, or a function of the library
    std::vector<size_t> arguments; // which ones it is given, from 0 on
    bool gives_separator = false;
};
std::vector<TextItem> text_items(std::string_view row);

// A system call's argument, all 64 bits of it, where the registers (struct pt_regs) lie at that address.
hir::Expr* call_register(Binding& b, hir::Expr* registers, size_t index);

// The text of the call at this point, from its items.
hir::Expr* call_text(Binding& b, const std::vector<TextItem>& items);

// The functions that make the texts of all calls, and their tables.
class CallTexts {
  public:
    static constexpr size_t most_items = 6;

    // A call of them.
    hir::Expr* text(Binding& b, const std::vector<TextItem>& items);
    // All points are bound: gives the functions their bodies and the program the calls' numbers.
    void finish(hir::Program& program, Arena& arena);

  private:
    void begin(Binding& b);
    // Its number, from 1 on.
    int64_t number_of(Binding& b, const TextItem& item);

    hir::Function* text_ = nullptr; // of (registers, call)
    hir::Function* item_ = nullptr; // of (word, registers)
    hir::Local* value_ = nullptr;   // in item_: the item's first argument
    std::map<std::string, int64_t> numbers_;
    std::vector<hir::Expr*> items_;        // each as a text, in item_
    std::map<std::string, int64_t> calls_; // by name: their numbers in the table
    // Of each call, from the second on: its items in two words. An item has 16 bits: its number, where its first
    // argument lies, and whether a comma comes before it.
    std::vector<int64_t>* words_ = nullptr;
};

} // namespace sonde

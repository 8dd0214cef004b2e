// `argstr`: the arguments of a system call, as in source code.
//
// The row of a call (arch/system_calls.def) describes the text by items: a letter or a library function for each
// argument. If a handler is for a few calls, each call's text becomes an expression.
//
// The problem: for `syscall.*` this would be 350 programs of 400 instructions each, which take LLVM three seconds and
// the kernel's verifier two.
//
// The idea: if a handler is for many calls, the items remain data. One function prints any item by its number. Another
// function prints the text of any call by words that list its items. All calls then share one handler, which passes the
// call's number.
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
    std::string what;              // a letter, or a library function
    std::vector<size_t> arguments; // indices of the arguments that it gets, from 0 on
    bool gives_separator = false;
};
std::vector<TextItem> text_items(std::string_view row);

// An argument of a system call with all 64 bits. `registers`: the address of a struct pt_regs.
hir::Expr* call_register(Binding& b, hir::Expr* registers, size_t index);

// The text of the call at this point, as an expression.
hir::Expr* call_text(Binding& b, const std::vector<TextItem>& items);

// The functions that print the texts of all calls, and their tables.
class CallTexts {
  public:
    static constexpr size_t most_items = 6;

    // A call of these functions with this point's call.
    hir::Expr* text(Binding& b, const std::vector<TextItem>& items);
    // Call it when all points are bound: creates the functions' bodies and stores the calls' numbers in the program.
    void finish(hir::Program& program, Arena& arena);

  private:
    void begin(Binding& b);
    // The item's number, from 1 on.
    int64_t number_of(Binding& b, const TextItem& item);

    hir::Function* text_ = nullptr; // parameters: registers, call
    hir::Function* item_ = nullptr; // parameters: word, registers
    hir::Local* value_ = nullptr;   // in item_: the item's first argument
    std::map<std::string, int64_t> numbers_;
    std::vector<hir::Expr*> items_;        // the text of each, in item_
    std::map<std::string, int64_t> calls_; // by name: indices in the table
    // For each call, from the second on, two words with its items. An item has 16 bits: its number, the position of its
    // first argument, and whether a comma precedes it.
    std::vector<int64_t>* words_ = nullptr;
};

} // namespace sonde

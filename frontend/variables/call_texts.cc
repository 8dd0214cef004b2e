// A word of the table has four items of 16 bits, the first item in the lowest bits:
//
//   bits 0-9    number of the item's function, from 1 on; 0: no further item
//   bits 10-14  offset of the item's first argument in struct pt_regs, in units of 8 bytes
//   bit  15     a comma precedes the item
//
// Example: the row of openat() begins with "A Q _open_flag_str". These items become the directory of rdi, the quoted
// string at rsi, and the flags of rdx. The function `call.text` loads the two words of a call and prints the items. The
// function `call.item` selects the code of an item by a binary search of nested `if`.
//
// Items are equal if they print in the same way, whichever register has the first argument. So the calls share most of
// their items. The number of items and the size of a word must fit the constants below; a static_assert and a CHECK
// enforce this.
#include "frontend/variables/call_texts.h"

#include <utility>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/check.h"
#include "frontend/variables/binding.h"
#include "frontend/variables/text.h"

namespace sonde {

using hir::BinaryOp;
using hir::ValueType;

namespace {

// The offset of an argument of a system call in the kernel's struct pt_regs.
int64_t argument_offset(const Binding& b, int64_t index) {
    const Architecture& architecture = *b.binder.env.architecture;
    const int reg = architecture.system_calls().arguments[static_cast<size_t>(index)];
    return architecture.registers().saved_at[static_cast<size_t>(reg)];
}

// The format of an item in a word.
constexpr int64_t item_bits = 16, items_in_word = 4, words_of_call = 2;
constexpr int64_t number_bits = 10, where_bits = 5, where_unit = 8;
constexpr int64_t with_comma = int64_t{1} << (number_bits + where_bits);
static_assert(words_of_call * items_in_word >= static_cast<int64_t>(CallTexts::most_items));

constexpr int64_t mask(int64_t bits) { return (int64_t{1} << bits) - 1; }

// Prints a number in the form of an item's letter. Returns false for an unknown letter.
bool add_by_letter(Binding& b, Text& text, char letter, hir::Expr* value) {
    const auto low = [&](bool is_signed) { return b.make<hir::Retype>(b.expr.range, value, 4u, is_signed); };
    switch (letter) {
    case 'd':
        text.add_integer(low(true), 'd', 0);
        return true;
    case 'D':
        text.add_integer(value, 'd', 0);
        return true;
    case 'u':
        text.add_integer(low(false), 'u', 0);
        return true;
    case 'U':
        text.add_integer(value, 'u', 0);
        return true;
    case 'x':
        text.literal("0x");
        text.add_integer(low(false), 'x', 0);
        return true;
    case 'p':
    case 'X':
        text.literal("0x");
        text.add_integer(value, 'x', 0);
        return true;
    case 'o':
        text.literal("0");
        text.add_integer(low(false), 'o', 0);
        return true;
    case 'Q': // quoted, or the address if it cannot be read: this does not wait for pages
        text.add(
            b.make<hir::Intrinsic>(b.expr.range, "__user_text", ValueType::String, std::vector<hir::Expr*>{value}));
        return true;
    default:
        return false;
    }
}

// Prints one item: by its letter, or by calling a library function. A function that does not exist prints `?`.
void add_item(Binding& b, Text& text, const TextItem& item, std::vector<hir::Expr*> args) {
    if (item.what.size() == 1 && add_by_letter(b, text, item.what[0], args[0]))
        return;
    const char* function = item.what == "A" ? "_dfd_str" : item.what == "B" ? "__buffer_text" : item.what.c_str();
    if (hir::Expr* said = b.binder.call ? b.binder.call(function, std::move(args)) : nullptr)
        text.add(said);
    else
        text.literal("?");
}

// compiled_once: all calls share the code. Otherwise each of the 350 calls would get an inlined copy.
hir::Function* begin_function(Binding& b, std::string name) {
    auto* function = b.make<hir::Function>();
    function->name = std::move(name); // a name that scripts cannot use
    function->range = b.expr.range;
    function->result = ValueType::String;
    function->bounded = true;
    function->compiled_once = true;
    function->body = b.make<hir::Block>(b.expr.range);
    return function;
}

hir::Local* add_number(Binding& b, std::vector<hir::Local*>& list, std::string name, size_t index) {
    auto* local = b.make<hir::Local>();
    local->name = std::move(name);
    local->type = ValueType::Long;
    local->range = b.expr.range;
    local->index = static_cast<uint32_t>(index);
    list.push_back(local);
    return local;
}

// The part of `value` from the item at this place of a word upwards.
hir::Expr* from_item(Binding& b, hir::Expr* word, int64_t place) {
    return place == 0 ? word : b.binary(BinaryOp::ShrLogical, word, b.number(place * item_bits));
}

} // namespace

std::vector<TextItem> text_items(std::string_view row) {
    std::vector<TextItem> items;
    size_t next = 0;
    while (!row.empty()) {
        size_t blank = row.find(' ');
        std::string_view word = row.substr(0, blank);
        row.remove_prefix(blank == std::string_view::npos ? row.size() : blank + 1);
        TextItem item;
        item.gives_separator = word.starts_with('+');
        word.remove_prefix(item.gives_separator);
        size_t colon = word.find(':');
        item.what = word.substr(0, colon);
        if (colon == std::string_view::npos)
            item.arguments.push_back(next);
        else
            for (char digit : word.substr(colon + 1))
                if (digit != ',')
                    item.arguments.push_back(static_cast<size_t>(digit - '1'));
        if (item.what == "B")
            item.arguments.push_back(item.arguments.front() + 1);
        next = item.arguments.front() + 1;
        items.push_back(std::move(item));
    }
    return items;
}

hir::Expr* call_register(Binding& b, hir::Expr* registers, size_t index) {
    auto* at =
        b.make<hir::Load>(b.expr.range, b.plus(registers, argument_offset(b, static_cast<int64_t>(index))), 8u, false);
    at->user = false;
    return at;
}

hir::Expr* call_text(Binding& b, const std::vector<TextItem>& items) {
    if (b.point.is_among_many && b.binder.call_texts && b.binder.define && items.size() <= CallTexts::most_items)
        return b.binder.call_texts->text(b, items);
    Text text;
    bool is_first = true;
    for (const TextItem& item : items) {
        if (!is_first && !item.gives_separator)
            text.literal(", ");
        is_first = false;
        std::vector<hir::Expr*> args;
        for (size_t index : item.arguments)
            args.push_back(call_register(b, b.make<hir::Argument>(b.expr.range, hir::Argument::call_registers), index));
        add_item(b, text, item, std::move(args));
    }
    return std::move(text).finish(b);
}

// Creates both functions. The items are added later, when their number is known (finish()). In the script's language,
// they would be about this, with two words of items for each call:
//
//     function call.item(word, registers) {
//         value = *(registers + (word >> 10 & 31) * 8)
//         if ((word & 1023) <= 2) { if ((word & 1023) <= 1) return ITEM_1; else return ITEM_2 } else ...
//     }
//     function call.text(registers, call) {
//         word0 = table[2 * call]; word1 = table[2 * call + 1]
//         if (!(word0 & 1023)) return ""
//         if (!(word0 >> 16 & 1023)) return call.item(word0, registers)
//         if (!(word0 >> 32 & 1023)) return call.item(word0, registers) . ", " . call.item(word0 >> 16, registers)
//         ...
//     }
void CallTexts::begin(Binding& b) {
    const Range range = b.expr.range;
    words_ = b.make<std::vector<int64_t>>();
    words_->resize(words_of_call); // the first call has no items
    item_ = begin_function(b, "call.item");
    hir::Local* word = add_number(b, item_->params, "word", 0);
    hir::Local* registers = add_number(b, item_->params, "registers", 1);
    value_ = add_number(b, item_->locals, "value", 2);
    hir::Expr* place = b.binary(BinaryOp::And, b.binary(BinaryOp::ShrLogical, b.get(word), b.number(number_bits)),
                                b.number(mask(where_bits)));
    auto* read = b.make<hir::Load>(
        range, b.binary(BinaryOp::Add, b.get(registers), b.binary(BinaryOp::Mul, place, b.number(where_unit))), 8u,
        false);
    read->user = false;
    item_->body->body.push_back(b.set(value_, read));

    // One `return` for each number of items, so that missing items are not evaluated.
    text_ = begin_function(b, "call.text");
    hir::Local* from = add_number(b, text_->params, "registers", 0);
    hir::Local* call = add_number(b, text_->params, "call", 1);
    hir::Local* words[words_of_call];
    for (int64_t i = 0; i < words_of_call; i++) {
        words[i] = add_number(b, text_->locals, fmt::format("word{}", i), static_cast<size_t>(2 + i));
        auto* value = b.make<hir::TableWord>(range, words_,
                                             b.plus(b.binary(BinaryOp::Mul, b.get(call), b.number(words_of_call)), i));
        text_->body->body.push_back(b.set(words[i], value));
    }
    auto item_at = [&](int64_t i) { return from_item(b, b.get(words[i / items_in_word]), i % items_in_word); };
    hir::Expr* whole = b.string("");
    for (int64_t i = 0; i <= static_cast<int64_t>(most_items); i++) {
        auto* end = b.make<hir::Return>(range, whole);
        if (i == static_cast<int64_t>(most_items)) {
            text_->body->body.push_back(end);
            break;
        }
        hir::Expr* number = b.binary(BinaryOp::And, item_at(i), b.number(mask(number_bits)));
        auto* is_last = b.make<hir::Unary>(range, hir::UnaryOp::Not, number);
        text_->body->body.push_back(b.make<hir::If>(range, is_last, end, nullptr));
        hir::Expr* item =
            b.make<hir::Call>(range, item_, ValueType::String, std::vector<hir::Expr*>{item_at(i), b.get(from)});
        if (i == 0) {
            whole = item;
            continue;
        }
        hir::Expr* has_comma = b.binary(
            BinaryOp::And, b.binary(BinaryOp::ShrLogical, item_at(i), b.number(number_bits + where_bits)), b.number(1));
        auto* comma = b.make<hir::Intrinsic>(range, "__name", ValueType::String,
                                             std::vector<hir::Expr*>{b.string("|, "), has_comma});
        whole = b.make<hir::Concat>(range, b.make<hir::Concat>(range, whole, comma), item);
    }
}

int64_t CallTexts::number_of(Binding& b, const TextItem& item) {
    std::string key = item.what;
    for (size_t i = 1; i < item.arguments.size(); i++)
        key += fmt::format(":{}", item.arguments[i]);
    auto [entry, fresh] = numbers_.try_emplace(key, items_.size() + 1);
    if (fresh) {
        CHECK(items_.size() < mask(number_bits));
        std::vector<hir::Expr*> args = {b.get(value_)};
        for (size_t i = 1; i < item.arguments.size(); i++)
            args.push_back(call_register(b, b.get(item_->params[1]), item.arguments[i]));
        Text text;
        add_item(b, text, item, std::move(args));
        items_.push_back(std::move(text).finish(b));
    }
    return entry->second;
}

hir::Expr* CallTexts::text(Binding& b, const std::vector<TextItem>& items) {
    if (!text_)
        begin(b);
    auto [entry, fresh] = calls_.try_emplace(b.point.point.function, words_->size() / words_of_call);
    if (fresh) {
        int64_t words[words_of_call] = {};
        for (size_t i = 0; i < items.size(); i++) {
            int64_t item = number_of(b, items[i]) |
                           argument_offset(b, static_cast<int64_t>(items[i].arguments[0])) / where_unit << number_bits;
            if (i > 0 && !items[i].gives_separator)
                item |= with_comma;
            words[i / items_in_word] |=
                static_cast<int64_t>(static_cast<uint64_t>(item) << (i % items_in_word * item_bits));
        }
        words_->insert(words_->end(), std::begin(words), std::end(words));
    }
    return b.make<hir::Call>(b.expr.range, text_, ValueType::String,
                             std::vector<hir::Expr*>{b.make<hir::Argument>(b.expr.range, hir::Argument::call_registers),
                                                     b.make<hir::PointNumber>(b.expr.range)});
}

void CallTexts::finish(hir::Program& program, Arena& arena) {
    if (!text_)
        return;
    const Range range = item_->range;
    // Finds the item by binary search.
    auto number = [&](int64_t n) { return arena.make<hir::ConstLong>(range, n); };
    auto choose = [&](auto& self, size_t first, size_t end) -> hir::Stmt* {
        if (end - first == 1)
            return arena.make<hir::Return>(range, items_[first]);
        const size_t middle = (first + end) / 2;
        auto* item = arena.make<hir::Binary>(range, BinaryOp::And, arena.make<hir::LocalRef>(range, item_->params[0]),
                                             number(mask(number_bits)));
        auto* is_below = arena.make<hir::Binary>(range, BinaryOp::Le, item, number(static_cast<int64_t>(middle)));
        return arena.make<hir::If>(range, is_below, self(self, first, middle), self(self, middle, end));
    };
    if (!items_.empty())
        item_->body->body.push_back(choose(choose, 0, items_.size()));
    program.functions.push_back(item_);
    program.functions.push_back(text_);
    program.point_numbers = calls_;
}

} // namespace sonde

// Rust. For
//
//     async fn pay(n: u32) -> u32 { audit(n).await }        // shop.rs:4
//
// the compiler describes this type, in which the awaited future has a name that it makes up:
//
//     {async_fn_env#0}   tag __state
//       0: Unresumed     shop.rs:4
//       1: Returned      shop.rs:4
//       2: Panicked      shop.rs:4
//       3: Suspend0      shop.rs:4      __awaitee: shop::audit::{async_fn_env#0}
//
// The type of the awaited future leads to the next state machine. It may be behind a Pin or a Box, or in an object that
// holds exactly one future, such as a timeout. The type of a `dyn Future` is unknown, so its virtual table tells: the
// compiler describes for each table the type that it belongs to.
//
// C++. The compilers describe the frame of a coroutine as a type: gcc as `_Z3payi.Frame`, LLVM as
// `_Z3payi.coro_frame_ty`. The address of a frame alone does not tell its type. But the frame begins with the addresses
// of the functions that resume and destroy it, which each coroutine has of its own. They have symbols with the suffixes
// .actor, .resume, .destroy and .cleanup, so these symbols connect an address with a type.
//
// A frame has the number of the place where the coroutine is suspended, but nothing tells the line of a number. So the
// code is searched for the instructions that store the number, and the line table has their lines. In optimized code
// some of these instructions belong to inlined code, or are merged. The number is shown then instead of the line.
#include "frontend/dwarf/async_states.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include <dwarf.h>
#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/async_name.h"
#include "base/debug/die.h"
#include "base/demangle.h"
#include "base/symbol_parts.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/language.h"
#include "frontend/dwarf/line_tables.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/statements.h"
#include "frontend/dwarf/symbol_tables.h"
#include "frontend/dwarf/type_reader.h"
#include "frontend/dwarf/unit_index.h"

namespace sonde {
namespace {

constexpr int max_type_depth = 16;
constexpr size_t max_rows = 1 << 14, max_lines = 1 << 15;

// Unit::language is known only after scan().
int language_of_unit(Unit& unit) { return dwarf_srclang(&unit.die); }

bool is_record_type(const Type* type) { return type && (type->kind == Type::Struct || type->kind == Type::Union); }

std::string qualified(const Type* type) { return type->scope + type->name; }

// A type's name for the output. Types of combinators contain those of all their parts.
std::string shown_type(const Type* type) {
    constexpr size_t most = 160;
    std::string out = async_name(qualified(type));
    if (out.empty())
        out = qualified(type);
    if (out.size() > most)
        out = out.substr(0, most) + "...";
    std::ranges::replace(out, '\n', ' ');
    return out;
}

bool is_machine(const Type* type) {
    return type->kind == Type::Struct && type->tag && type->tag->type && !type->variants.empty() &&
           type->name.starts_with("{async_") && type->name.find("_env#") != std::string::npos;
}

// Whether a pointer owns its target, or borrows it to change it. Other pointers lead to objects that somebody else
// polls.
bool leads_to_future(const Type* pointer) {
    return pointer->name.starts_with("&mut ") || pointer->name.starts_with("alloc::boxed::Box<");
}

// `dyn Future<Output=T>` in any pointer to it.
bool is_dyn_future(const Type* type) {
    return type->name.find("dyn ") != std::string::npos &&
           type->name.find("core::future::future::Future") != std::string::npos;
}

// A type of the library that only holds another one: no line is printed for it.
bool is_transparent(const Type* type) {
    static constexpr std::array<std::string_view, 6> names = {
        "core::pin::Pin<",
        "core::future::from_generator::GenFuture<",
        "core::mem::manually_drop::ManuallyDrop<",
        "core::mem::maybe_dangling::MaybeDangling<",
        "core::mem::maybe_uninit::MaybeUninit<",
        "core::cell::UnsafeCell<",
    };
    const std::string name = qualified(type);
    return std::ranges::any_of(names, [&](std::string_view one) { return name.starts_with(one); });
}

// The file and line of a declaration: " at shop.rs:4", or "".
std::string declared_at(Dwarf_Die& die) {
    const char* file = declaration_file(die);
    const std::optional<uint64_t> line = number_attribute(die, DW_AT_decl_line);
    return file && *file && line ? fmt::format(" at {}:{}", file, *line) : "";
}

// The members of all variants of an enum, in order: visit(member).
template <typename Visit> void for_each_variant_member(Dwarf_Die& type, Visit visit) {
    for_each_child(type, [&](Dwarf_Die& part) {
        if (dwarf_tag(&part) == DW_TAG_variant_part)
            for_each_child(part, [&](Dwarf_Die& variant) {
                if (dwarf_tag(&variant) == DW_TAG_variant)
                    for_each_child(variant, [&](Dwarf_Die& member) {
                        if (dwarf_tag(&member) == DW_TAG_member)
                            visit(member);
                        return true;
                    });
                return true;
            });
        return true;
    });
}

} // namespace

uint32_t AsyncStates::line(const std::string& text) {
    const auto [entry, is_new] = line_numbers_.try_emplace(text, static_cast<uint32_t>(lines_.size()));
    if (is_new)
        lines_.push_back(text);
    return entry->second;
}

AsyncStates::Language AsyncStates::language_of(const FunctionInstance& function) {
    Unit* unit = units_.unit_of(function.die);
    const int language = unit ? language_of_unit(*unit) : 0;
    return language == DW_LANG_Rust ? Language::Rust : is_cxx_language(language) ? Language::Cxx : Language::Other;
}

// ---- Rust

const AsyncStates::Shape& AsyncStates::shape_of(const Type* type, int depth) {
    static const Shape leaf;
    type = strip(type);
    if (!type || depth > max_type_depth)
        return leaf;
    if (const auto known = shapes_.find(type); known != shapes_.end())
        return known->second;
    shapes_[type] = {}; // a type that contains itself does so behind a pointer, which is looked at when it is followed
    const Shape shape = find_shape(type, depth);
    return shapes_[type] = shape;
}

AsyncStates::Shape AsyncStates::find_shape(const Type* type, int depth) {
    if (type->kind == Type::Pointer || type->kind == Type::Reference) {
        const Type* target = strip(type->target);
        if (!target || !leads_to_future(type))
            return {};
        complete(target);
        return shape_of(target, depth + 1).kind != Shape::Leaf || is_machine(target)
                   ? Shape{.kind = Shape::Pointer, .inner = type->target}
                   : Shape{};
    }
    if (type->kind != Type::Struct)
        return {};
    complete(type);
    if (is_machine(type))
        return {.kind = Shape::Machine};
    const std::optional<TypeMember> table = find_member(type, "vtable");
    if (table) {
        std::optional<TypeMember> object = find_member(type, "pointer");
        if (!object)
            object = find_member(type, "data_ptr");
        return object && is_dyn_future(type) ? Shape{.kind = Shape::Dyn,
                                                     .first = static_cast<int64_t>(object->byte_offset),
                                                     .second = static_cast<int64_t>(table->byte_offset)}
                                             : Shape{};
    }
    Shape out;
    for (const TypeMember& member : type->members) {
        const Shape& inside = shape_of(member.type, depth + 1);
        if (inside.kind == Shape::Leaf)
            continue;
        out = {.kind = Shape::Wrapper,
               .offset = static_cast<int64_t>(member.byte_offset),
               .inner = member.type,
               .count = out.count + 1};
    }
    if (out.count > 0 && !type->variants.empty())
        return {.kind = Shape::Choice};
    if (out.count > 1)
        out.kind = Shape::Several;
    return out;
}

std::optional<uint32_t> AsyncStates::future(const Type* type) {
    type = strip(type);
    if (!type)
        return std::nullopt;
    complete(type);
    if (shape_of(type).kind == Shape::Leaf)
        return std::nullopt;
    return row_of(type);
}

uint32_t AsyncStates::row_of(const Type* type) {
    type = strip(type);
    if (!type)
        return 0;
    if (const auto known = type_rows_.find(type); known != type_rows_.end())
        return known->second;
    if (rows_.size() >= max_rows || lines_.size() >= max_lines)
        return type_rows_[type] = add({.step = {.line = line("... too many types of futures")}});
    const auto row = static_cast<uint32_t>(rows_.size());
    type_rows_[type] = row;
    rows_.emplace_back();
    fill_row(row, type);
    return row;
}

void AsyncStates::fill_row(uint32_t row, const Type* type) {
    complete(type);
    const Shape shape = shape_of(type);
    AsyncRow out;
    switch (shape.kind) {
    case Shape::Machine:
        return fill_machine(row, type);
    case Shape::Choice:
        return fill_choice(row, type);
    case Shape::Leaf:
        out.step.line = line(shown_type(type));
        break;
    case Shape::Several:
        out.step.line = line(fmt::format("{} (holds {} futures)", shown_type(type), shape.count));
        break;
    case Shape::Pointer:
        out.kind = AsyncRow::Pointer;
        out.step = {line("... a null pointer"), 0, row_of(shape.inner)};
        break;
    case Shape::Dyn:
        out.kind = AsyncRow::Dyn;
        out.first = shape.first;
        out.second = shape.second;
        rows_[row] = out;
        return add_virtual_tables();
    case Shape::Wrapper:
        out.kind = AsyncRow::Record;
        out.step = {is_transparent(type) ? 0 : line(shown_type(type)), shape.offset, row_of(shape.inner)};
        break;
    }
    rows_[row] = out;
}

void AsyncStates::fill_machine(uint32_t row, const Type* machine) {
    AsyncRow out;
    out.kind = AsyncRow::Tagged;
    out.first = static_cast<int64_t>(machine->tag->byte_offset);
    out.second = static_cast<int64_t>(strip(machine->tag->type) ? strip(machine->tag->type)->size : 0);
    const std::string name = shown_type(machine);
    Dwarf_Die die;
    std::vector<std::string> places;
    if (types_.die_of(machine, &die))
        for_each_variant_member(die, [&](Dwarf_Die& member) { places.push_back(declared_at(member)); });
    for (const TypeVariant& variant : machine->variants) {
        const TypeMember& member = machine->members[variant.member];
        const Type* state = strip(member.type);
        if (!state || !variant.tag)
            continue;
        complete(state);
        const std::string place = variant.member < places.size() ? places[variant.member] : "";
        AsyncStep step;
        const std::optional<TypeMember> awaited = find_member(state, "__awaitee");
        if (state->name.starts_with("Unresumed"))
            step.line = line(name + place + " (not started)");
        else if (state->name.starts_with("Returned"))
            step.line = line(name + place + " (returned)");
        else if (state->name.starts_with("Panicked"))
            step.line = line(name + place + " (panicked)");
        else if (awaited)
            step = {line(name + place), static_cast<int64_t>(member.byte_offset + awaited->byte_offset),
                    row_of(awaited->type)};
        else
            step.line = line(name + place + " (the debug information does not have the awaited future)");
        out.variants.push_back({static_cast<uint64_t>(*variant.tag), step});
    }
    rows_[row] = out;
}

// An enum of which some variants hold a future, such as `MaybeDone`.
void AsyncStates::fill_choice(uint32_t row, const Type* type) {
    AsyncRow out;
    out.kind = AsyncRow::Tagged;
    const bool is_tagged = type->tag && type->tag->type && strip(type->tag->type);
    out.first = is_tagged ? static_cast<int64_t>(type->tag->byte_offset) : 0;
    out.second = is_tagged ? static_cast<int64_t>(strip(type->tag->type)->size) : 1;
    for (const TypeVariant& variant : type->variants) {
        const TypeMember& member = type->members[variant.member];
        const Shape shape = shape_of(member.type);
        AsyncStep step;
        step.line = line(fmt::format("{}::{}", shown_type(type), member.name));
        // The record of a variant holds its values.
        if (shape.kind == Shape::Wrapper)
            step = {step.line, static_cast<int64_t>(member.byte_offset) + shape.offset, row_of(shape.inner)};
        else if (shape.kind != Shape::Leaf)
            step = {step.line, static_cast<int64_t>(member.byte_offset), row_of(member.type)};
        if (variant.tag && is_tagged)
            out.variants.push_back({static_cast<uint64_t>(*variant.tag), step});
        else
            out.step = step;
    }
    rows_[row] = out;
}

// For each virtual table, the compiler describes a variable `<T as core::future::future::Future>::{vtable}`. Its type
// has T as the containing type.
void AsyncStates::add_virtual_tables() {
    if (std::exchange(has_tables_, true))
        return;
    std::map<Address, std::set<uint32_t>> rows;
    for (Unit& unit : units_.all()) {
        if (language_of_unit(unit) != DW_LANG_Rust)
            continue;
        scan(unit);
        for (const NamedEntry& entry : unit.variables) {
            const std::string_view name = entry.name ? entry.name : "";
            if (!name.ends_with("::{vtable}") || name.find("core::future::future::Future") == std::string_view::npos)
                continue;
            Dwarf_Die die, table, owner;
            Dwarf_Attribute attribute;
            Dwarf_Op* ops = nullptr;
            size_t count = 0;
            if (!die_at(unit, entry.offset, &die) || !dwarf_attr(&die, DW_AT_location, &attribute) ||
                dwarf_getlocation(&attribute, &ops, &count) != 0 || count != 1 || ops[0].atom != DW_OP_addr)
                continue;
            const Address address = ops[0].number;
            if (!file_.is_in_section(address) || !dwarf_attr(&die, DW_AT_type, &attribute) ||
                !dwarf_formref_die(&attribute, &table) || !dwarf_attr(&table, DW_AT_containing_type, &attribute) ||
                !dwarf_formref_die(&attribute, &owner))
                continue;
            rows[address].insert(row_of(types_.type_from(owner)));
        }
    }
    for (const auto& [address, candidates] : rows) {
        // The linker may merge the tables of types whose functions have the same code.
        uint32_t row = *candidates.begin();
        if (candidates.size() > 1) {
            row = add(
                {.step = {.line = line(fmt::format("... a future of one of {} types, whose virtual tables are merged",
                                                   candidates.size()))}});
        }
        places_[address] = row;
    }
}

// ---- C++

namespace {

constexpr int64_t promise_offset = 16;
constexpr std::array<std::string_view, 2> frame_endings = {".Frame", ".coro_frame_ty"};

// The coroutine's symbol for the name of its frame's type: "_Z3payi" for "_Z3payi.Frame"; "" for other types.
std::string_view coroutine_of_frame(std::string_view name) {
    for (const std::string_view ending : frame_endings)
        if (name.starts_with("_Z") && name.ends_with(ending))
            return name.substr(0, name.size() - ending.size());
    return {};
}

// The symbol of the coroutine to which a part belongs. gcc's parts are functions with the frame as parameter:
// "_Z3payPZ3payiE13_Z3payi.Frame.actor" belongs to "_Z3payi".
std::string_view coroutine_of_part(std::string_view symbol, std::string_view part) {
    std::string_view whole = symbol.substr(0, symbol.size() - part.size());
    if (!whole.ends_with(frame_endings[0]))
        return whole;
    for (size_t i = 1; i < whole.size(); i++) {
        size_t length = 0;
        const auto [end, error] = std::from_chars(whole.data() + i, whole.data() + whole.size(), length);
        if (error == std::errc() && length == static_cast<size_t>(whole.data() + whole.size() - end) &&
            (whole[i - 1] < '0' || whole[i - 1] > '9'))
            return coroutine_of_frame({end, length});
    }
    return {};
}

// Functions of the library's coroutine that does nothing. A chain that leads there ends.
bool is_of_no_coroutine(std::string_view symbol) {
    return symbol.find("__dummy_resume_destroy") != std::string_view::npos ||
           symbol.starts_with("__NoopCoro_ResumeDestroy");
}

bool is_handle(const Type* type) {
    return type->kind == Type::Struct && type->name.starts_with("coroutine_handle<") &&
           type->scope.starts_with("std::");
}

struct Handle {
    std::string name; // of the member
    int64_t offset = 0;
};

// Adds the handles in an object, also those in its bases and members. In a union, it is unknown whether a handle
// exists.
void find_handles(const Type* type, const std::string& name, int64_t offset, int depth, std::vector<Handle>& out) {
    type = strip(type);
    if (!type || type->kind != Type::Struct || depth > max_type_depth || out.size() > 64)
        return;
    complete(type);
    if (is_handle(type)) {
        out.push_back({name, offset});
        return;
    }
    for (const TypeMember& member : type->members)
        if (!member.in_vtable)
            find_handles(member.type, member.is_base ? name : member.name,
                         offset + static_cast<int64_t>(member.byte_offset), depth + 1, out);
}

// Whether programs give the member with the coroutine to continue with this name.
bool is_named_like_continuation(std::string name) {
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    static constexpr std::array<std::string_view, 8> words = {"contin", "await",    "caller", "parent",
                                                              "waiter", "previous", "outer",  "resume"};
    return std::ranges::any_of(words, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

std::optional<TypeMember> first_member(const Type* type, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
        if (std::optional<TypeMember> found = find_member(type, name))
            return found;
    return std::nullopt;
}

} // namespace

bool AsyncStates::is_frame(const Type* type) {
    type = strip(type);
    return is_record_type(type) && !coroutine_of_frame(type->name).empty();
}

uint32_t AsyncStates::add(AsyncRow row) {
    rows_.push_back(std::move(row));
    return static_cast<uint32_t>(rows_.size() - 1);
}

std::optional<uint32_t> AsyncStates::handle(const Type* type, size_t& count) {
    std::vector<Handle> handles;
    find_handles(type, "", 0, 0, handles);
    count = handles.size();
    if (count != 1)
        return std::nullopt;
    const uint32_t pointer =
        add({.kind = AsyncRow::Pointer, .step = {line("... no coroutine: the handle is null"), 0, frame()}});
    return add({.kind = AsyncRow::Record, .step = {0, handles[0].offset, pointer}});
}

void AsyncStates::find_coroutines() {
    if (std::exchange(has_searched_coroutines_, true))
        return;
    for (Unit& unit : units_.all()) {
        if (!is_cxx_language(language_of_unit(unit)))
            continue;
        scan(unit);
        for (const NamedEntry& entry : unit.types)
            if (entry.name && !entry.declaration && !coroutine_of_frame(entry.name).empty())
                frames_[std::string(coroutine_of_frame(entry.name))].emplace_back(&unit, entry.offset);
    }
    for (const CodeSymbol& symbol : symbols_.all()) {
        if (is_of_no_coroutine(symbol.name))
            places_[symbol.address] = 0;
        const std::string_view part = coroutine_part(symbol.name);
        if (part.empty())
            continue;
        const std::string name(coroutine_of_part(symbol.name, part));
        frame_code_[name].push_back(symbol.address);
    }
    for (const auto& [symbol, addresses] : std::map(frame_code_))
        for (const Address address : addresses) {
            const Type* frame = frame_type(symbol, address);
            const Promise promise = frame ? promise_of(frame) : promise_at(address);
            if (frame || promise.type)
                places_[address] = coroutine(symbol, frame, promise);
        }
    frames_.clear();
}

bool AsyncStates::has_coroutines() {
    find_coroutines();
    return !coroutine_rows_.empty();
}

AsyncStates::Promise AsyncStates::promise_of(const Type* frame) {
    complete(frame);
    const std::optional<TypeMember> member = first_member(frame, {"_Coro_promise", "__promise"});
    return member ? Promise{member->type, static_cast<int64_t>(member->byte_offset)} : Promise{};
}

// LLVM does not describe frames in optimized code. But it describes the promise as a variable of the function, and the
// promise is behind the two addresses at the beginning of the frame, which libraries rely on.
AsyncStates::Promise AsyncStates::promise_at(Address code) {
    const FunctionRef function = units_.function_at(code);
    Dwarf_Die die;
    Promise out;
    if (!function || !is_cxx_language(language_of_unit(*function.unit)) || !die_of(function, &die))
        return out;
    for_each_child(die, [&](Dwarf_Die& child) {
        const char* name = dwarf_tag(&child) == DW_TAG_variable ? string_attribute(child, DW_AT_name) : nullptr;
        if (name && std::string_view(name) == "__promise")
            out = {types_.type_of(child), promise_offset};
        return !out.type;
    });
    Dwarf_Die type;
    // The promise moves if it needs a larger alignment.
    if (out.type && types_.die_of(strip(out.type), &type) &&
        number_attribute(type, DW_AT_alignment).value_or(0) > static_cast<uint64_t>(promise_offset))
        return {};
    return out;
}

// Several units can have a coroutine with this symbol. The one with the code has the type.
const Type* AsyncStates::frame_type(const std::string& symbol, Address code) {
    const auto found = frames_.find(symbol);
    if (found == frames_.end())
        return nullptr;
    const Unit* unit = units_.unit_at(code);
    const auto same = std::ranges::find_if(found->second, [&](const auto& one) { return one.first == unit; });
    const auto& [owner, offset] = same != found->second.end() ? *same : found->second.front();
    Dwarf_Die die;
    return die_at(*owner, offset, &die) ? strip(types_.type_from(die)) : nullptr;
}

uint32_t AsyncStates::frame() {
    find_coroutines();
    if (frame_row_ == 0)
        frame_row_ = add({.kind = AsyncRow::Frame});
    return frame_row_;
}

// The step from a frame to the coroutine that waits for it, by the handle in its promise. If it is unknown, the chain
// ends with the reason.
AsyncStep AsyncStates::continuation(const Promise& promise, uint32_t own_line) {
    auto end = [&](const std::string& text) { return AsyncStep{own_line, 0, add({.step = {.line = line(text)}})}; };
    const Type* type = strip(promise.type);
    if (!is_record_type(type))
        return end("... the debug information does not have the promise");
    complete(type);
    std::vector<Handle> handles;
    find_handles(type, "", 0, 0, handles);
    const std::string name = qualified(type);
    if (handles.empty())
        return end(fmt::format("... nobody known: `{}` has no std::coroutine_handle", name));
    if (handles.size() > 1)
        std::erase_if(handles, [](const Handle& one) { return !is_named_like_continuation(one.name); });
    if (handles.size() != 1)
        return end(fmt::format("... nobody known: `{}` has several std::coroutine_handle", name));
    // The frame's address is all that a handle has. It is null if nobody waits.
    return {own_line, promise.offset + handles[0].offset,
            add({.kind = AsyncRow::Pointer, .step = {.next = this->frame()}})};
}

uint32_t AsyncStates::running_coroutine(const Type* frame, const std::string& place) {
    frame = strip(frame);
    find_coroutines();
    const std::string name = readable_symbol(coroutine_of_frame(frame->name));
    return add({.kind = AsyncRow::Record,
                .step = continuation(promise_of(frame), line(fmt::format("{} at {}", name, place)))});
}

uint32_t AsyncStates::running_promise(const Type* promise, const std::string& name, const std::string& place) {
    find_coroutines();
    return add(
        {.kind = AsyncRow::Record, .step = continuation({promise, 0}, line(fmt::format("{} at {}", name, place)))});
}

// Finds the stores of the number to the frame. In optimized code, instructions may belong to other lines, and to other
// coroutines that were inlined, so this is only done in code that is not.
//
// gcc gives the store itself the line at the end of the coroutine. The next instruction calls await_suspend(), and has
// the line of the co_await.
std::map<uint64_t, std::string> AsyncStates::places_of_suspension(const std::string& symbol, bool is_gcc,
                                                                  int64_t offset, uint64_t size) {
    std::vector<Address> functions = frame_code_[symbol];
    if (const std::optional<Address> start = symbols_.address_of(symbol))
        functions.push_back(*start);
    std::map<uint64_t, std::set<std::string>> found;
    for (const Address begin : functions) {
        Unit* unit = units_.unit_at(begin);
        const FunctionRef function = unit ? units_.function_at(*unit, begin) : FunctionRef();
        const auto code_symbol = symbols_.first_from(begin);
        const std::optional<Statement> statement = statements_.at(begin);
        if (!function || !statement || debug_.is_optimized(statement->function) ||
            code_symbol == symbols_.all().end() || code_symbol->address != begin)
            continue;
        const std::string code = file_.code(begin, begin + code_symbol->size);
        for (size_t at = 0; at < code.size();) {
            const std::optional<AnalyzedInstruction> one =
                file_.architecture().analyze(std::string_view(code).substr(at));
            if (!one || one->instruction.length == 0)
                break;
            const MemoryOperand& memory = one->instruction.memory;
            const bool stores_number = one->instruction.operation == Operation::Constant && one->instruction.to < 0 &&
                                       memory.exists && memory.base >= 0 && !memory.has_index &&
                                       memory.displacement == offset && one->effect.kind == Effect::Store &&
                                       one->effect.size == size;
            const Address place = begin + at + (is_gcc ? one->instruction.length : 0);
            const LineRow* row = stores_number ? line_tables_.row_at(*unit, place) : nullptr;
            if (row && row->file && row->line > 0 && units_.function_at(*unit, place) == function)
                found[static_cast<uint64_t>(one->instruction.immediate) & (size >= 8 ? ~0ull : (1ull << 8 * size) - 1)]
                    .insert(fmt::format("{}:{}", row->file, row->line));
            at += one->instruction.length;
        }
    }
    std::map<uint64_t, std::string> out;
    for (const auto& [number, places] : found)
        out[number] = places.size() == 1 ? *places.begin() : "";
    return out;
}

// Adds a line for each number of a place of suspension, one after the other. `own_place` is that of the coroutine.
//
// gcc counts by two, because each place has a number for resuming and one for destroying. 2 is the initial place, 4 the
// first co_await. LLVM counts the places that remain in optimized code, so 0 is not always the initial one. Its line
// tells: it is that of the coroutine.
void AsyncStates::add_places(AsyncRow& row, bool is_gcc, const std::string& name, const std::string& own_place,
                             const std::map<uint64_t, std::string>& places) {
    constexpr uint64_t least = 16, most = 256;
    if (lines_.size() > max_lines)
        return;
    const std::string whole = own_place.empty() ? name : fmt::format("{} at {}", name, own_place);
    row.first_line = static_cast<uint32_t>(lines_.size());
    row.lines = static_cast<uint32_t>(std::clamp(places.empty() ? 0 : places.rbegin()->first + 1, least, most));
    for (uint64_t i = 0; i < row.lines; i++) {
        const auto known = places.find(i);
        const std::string place = known != places.end() ? known->second : "";
        if (is_gcc ? i < 4 : i == 0 && !place.empty() && place == own_place)
            lines_.push_back(whole + " (not started)");
        else if (!place.empty())
            lines_.push_back(fmt::format("{} at {}", name, place));
        else
            lines_.push_back(is_gcc ? fmt::format("{} (suspended at its co_await number {})", whole, i / 2 - 1)
                                    : fmt::format("{} (suspended at place {})", whole, i));
    }
}

uint32_t AsyncStates::coroutine(const std::string& symbol, const Type* frame, Promise promise) {
    const auto [known, is_new] = coroutine_rows_.try_emplace({symbol, promise.type}, rows_.size());
    const uint32_t index = known->second;
    if (!is_new)
        return index;
    rows_.emplace_back();
    const std::string name = readable_symbol(symbol);
    std::string place;
    if (const std::optional<Address> address = symbols_.address_of(symbol))
        if (const std::optional<Statement> statement = statements_.at(*address); statement && statement->function.line)
            place = fmt::format("{}:{}", statement->function.file, statement->function.line);
    const std::string whole = place.empty() ? name : fmt::format("{} at {}", name, place);
    AsyncRow row;
    row.kind = AsyncRow::Coroutine;
    row.finished_line = line(whole + " (finished)");
    row.other_line = line(whole + " (suspended)");
    row.second = 1;
    const std::optional<TypeMember> number =
        frame ? first_member(frame, {"_Coro_resume_index", "__coro_index"}) : std::nullopt;
    const uint64_t size = number && strip(number->type) ? strip(number->type)->size : 0;
    if (size == 1 || size == 2 || size == 4 || size == 8) {
        const bool is_gcc = frame->name.ends_with(frame_endings[0]);
        row.first = static_cast<int64_t>(number->byte_offset);
        row.second = static_cast<int64_t>(size);
        add_places(row, is_gcc, name, place, places_of_suspension(symbol, is_gcc, row.first, size));
    }
    row.step = continuation(promise, 0);
    rows_[index] = row;
    return index;
}

} // namespace sonde

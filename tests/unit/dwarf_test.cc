// DwarfModule with programs built by both compilers at -O0 and -O2 with DWARF 4 and 5
// (tests/triggers/dwarf_triggers.cmake).
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "frontend/dwarf/dwarf_module.h"
#include "tests/unit/of_host.h"

namespace sonde {
namespace {

std::string triggers() { return SONDE_TRIGGERS "/"; }

std::unique_ptr<DwarfModule> open_module(const std::string& name) {
    Result<std::unique_ptr<DwarfModule>> module = DwarfModule::open(triggers() + name);
    EXPECT_TRUE(module.ok()) << name << ": " << (module.ok() ? "" : module.error().message);
    return module.ok() ? *std::move(module) : nullptr;
}

// The line of dwarf_basic.c that ends in `// line:NAME`.
int line_of(const std::string& name) {
    std::ifstream file(triggers() + "dwarf_basic.c");
    std::string text;
    for (int line = 1; std::getline(file, text); line++)
        if (text.ends_with("line:" + name))
            return line;
    ADD_FAILURE() << "no line " << name;
    return 0;
}

FunctionPattern pattern(const std::string& text) {
    Result<FunctionPattern> parsed = FunctionPattern::parse(text);
    EXPECT_TRUE(parsed.ok()) << text;
    return parsed.ok() ? *parsed : FunctionPattern();
}

// The only concrete function with this name.
FunctionInstance function(DwarfModule& module, const std::string& name) {
    std::vector<FunctionInstance> found = module.functions(pattern(name));
    std::erase_if(found, [](const FunctionInstance& instance) { return instance.inlined; });
    EXPECT_EQ(found.size(), 1u) << module.path() << " " << name;
    return found.empty() ? FunctionInstance() : found[0];
}

std::optional<Variable> variable(const std::vector<Variable>& variables, const std::string& name) {
    for (const Variable& candidate : variables)
        if (candidate.name == name)
            return candidate;
    return std::nullopt;
}

// "param int left", in order.
std::string describe(const std::vector<Variable>& variables) {
    std::string text;
    for (const Variable& each : variables)
        text += (text.empty() ? "" : ", ") + std::string(each.is_parameter ? "param " : "") + type_name(each.type) +
                " " + each.name;
    return text;
}

std::string describe(const Location& location) {
    static const char* const names[] = {"reg",  "const", "deref", "add", "sub",  "mul",    "div",   "mod",
                                        "and",  "or",    "xor",   "shl", "shr",  "sar",    "neg",   "not",
                                        "abs",  "eq",    "ne",    "lt",  "le",   "gt",     "ge",    "dup",
                                        "drop", "swap",  "over",  "rot", "pick", "thread", "choose"};
    std::ostringstream text;
    switch (location.kind) {
    case Location::Unavailable:
        return "<" + location.why + ">";
    case Location::Register:
        return "register " + std::to_string(location.reg);
    case Location::Bytes:
        text << "bytes";
        for (uint8_t byte : location.bytes)
            text << " " << int{byte};
        return text.str();
    case Location::Pieces:
        for (const Location::Piece& piece : location.pieces)
            text << "[" << piece.byte_size << " " << describe(piece.place) << "]";
        return text.str();
    case Location::Memory:
    case Location::Value:
        break;
    }
    text << (location.kind == Location::Memory ? "memory" : "value");
    for (const LocationOp& op : location.ops) {
        text << " " << names[op.code];
        if (op.code <= LocationOp::Deref)
            text << " " << op.operand;
    }
    return text.str();
}

const char* const basic_variants[] = {"gcc-O0-4",   "gcc-O0-5",   "gcc-O2-4",   "gcc-O2-5",
                                      "clang-O0-4", "clang-O0-5", "clang-O2-4", "clang-O2-5"};

class EveryBuild : public testing::TestWithParam<const char*> {
  protected:
    bool optimised() const { return std::string(GetParam()).find("-O2") != std::string::npos; }
    bool clang() const { return std::string(GetParam()).starts_with("clang"); }
    std::unique_ptr<DwarfModule> basic() const { return open_module(std::string("dwarf_basic-") + GetParam()); }
    std::unique_ptr<DwarfModule> cxx() const { return open_module(std::string("dwarf_cxx-") + GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Dwarf, EveryBuild, testing::ValuesIn(basic_variants), [](const auto& info) {
    std::string name = info.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

TEST(FunctionPattern, Parse) {
    FunctionPattern all = pattern("f@dir/a.c:12");
    EXPECT_EQ(all.function, "f");
    EXPECT_EQ(all.file, "dir/a.c");
    EXPECT_EQ(all.line_kind, FunctionPattern::Absolute);
    EXPECT_EQ(all.line, 12);
    EXPECT_EQ(pattern("ns::f@a.cc+3").line_kind, FunctionPattern::Relative);
    EXPECT_EQ(pattern("ns::f@a.cc+3").function, "ns::f");
    EXPECT_EQ(pattern("f@c++/a.cc").file, "c++/a.cc");
    EXPECT_EQ(pattern("f@a.c:*").line_kind, FunctionPattern::Wildcard);
    FunctionPattern range = pattern("*@a.c:10-20");
    EXPECT_EQ(range.line_kind, FunctionPattern::LineRange);
    EXPECT_EQ(range.line, 10);
    EXPECT_EQ(range.line_end, 20);
    EXPECT_EQ(pattern("main").line_kind, FunctionPattern::None);
    for (const char* wrong : {"", "@a.c", "f@", "f@:3", "f@a.c:x", "f@a.c:3-", "f@a.c:5-3", "f@a.c:-3", "f@a.c:"})
        EXPECT_FALSE(FunctionPattern::parse(wrong).ok()) << wrong;
}

TEST(FunctionPattern, Lists) {
    auto count = [](const char* text) {
        Result<std::vector<FunctionPattern>> list = FunctionPattern::parse_list(text);
        return list ? list->size() : 0;
    };
    EXPECT_EQ(count("f"), 1u);
    EXPECT_EQ(count("f<int, long>"), 1u);
    EXPECT_EQ(count("f@a.c+3"), 1u);
    EXPECT_EQ(count("f@a.c:1,3-5,*"), 3u);
    std::vector<FunctionPattern> list = *FunctionPattern::parse_list("f@a.c:1,3-5");
    EXPECT_EQ(list[1].function, "f");
    EXPECT_EQ(list[1].file, "a.c");
    EXPECT_EQ(list[1].line_end, 5);
    for (const char* wrong : {"", "f@a.c:", "f@a.c:1,", "f@a.c:1,x", "f@a.c:,1"})
        EXPECT_EQ(count(wrong), 0u) << wrong;
}

TEST(Plt, NamesTheCalls) {
    std::set<std::string> names;
    std::unique_ptr<DwarfModule> module = open_module("trace-O0");
    ASSERT_TRUE(module);
    for (const PltEntry& entry : module->file().plt()) {
        names.insert(entry.name);
        EXPECT_TRUE(module->file().file_offset(entry.address)) << entry.name;
    }
    EXPECT_TRUE(names.contains("printf"));
    EXPECT_TRUE(names.contains("atoi"));
    EXPECT_FALSE(names.contains("traceme"));
}

TEST(Places, LabelsAndCalls) {
    for (const char* name : {"places-O0", "places-O2"}) {
        std::unique_ptr<DwarfModule> module = open_module(name);
        ASSERT_TRUE(module);
        std::vector<Label> labels = module->labels(function(*module, "again"));
        ASSERT_EQ(labels.size(), 2u) << name;
        EXPECT_EQ(labels[0].name, "retry");
        EXPECT_EQ(labels[1].name, "done");
        std::map<std::string, int> calls;
        for (const CallSite& call : module->calls(function(*module, "main")))
            calls[call.callee.name + (call.return_address ? "" : " inlined")]++;
        std::map<std::string, int> expected = {
            {"leaf", 1}, {"middle", 1}, {"outer", 1}, {"again", 1}, {"folded inlined", 1}};
        EXPECT_EQ(calls, expected) << name;
        EXPECT_TRUE(module->calls(function(*module, "leaf")).empty());
    }
}

TEST_P(EveryBuild, FindsFunctions) {
    auto module = basic();
    FunctionInstance add = function(*module, "add");
    EXPECT_EQ(add.line, line_of("add"));
    EXPECT_TRUE(add.file.ends_with("tests/triggers/dwarf_basic.c")) << add.file;
    EXPECT_TRUE(add.external);
    EXPECT_TRUE(add.has_debug_info);
    EXPECT_TRUE(module->file().file_offset(add.entry));
    EXPECT_EQ(add.body == add.entry, optimised());
    EXPECT_EQ(module->functions(pattern("add@dwarf_basic.c")).size(), 1u);
    EXPECT_EQ(module->functions(pattern("add@*/dwarf_basic.c")).size(), 1u);
    EXPECT_EQ(module->functions(pattern("add@triggers/dwarf_*.c")).size(), 1u);
    EXPECT_EQ(module->functions(pattern("add@asic.c")).size(), 0u);
    EXPECT_EQ(module->functions(pattern("add@dwarf_other.c")).size(), 0u);
    EXPECT_EQ(module->functions(pattern("make_*")).size(), 5u);
    EXPECT_EQ(module->functions(pattern("memset")).size(), 0u); // PLT
    EXPECT_EQ(module->functions(pattern("_start")).size(), 1u); // symbol table only
    std::vector<FunctionInstance> all = module->functions(pattern("*"));
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.entry < b.entry; }));
    std::vector<std::string> names = module->function_names();
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), "use_inline"));
}

// Unloading units in between makes no difference, even if a unit refers to others.
TEST(Dwarf, VisitsFunctions) {
    for (std::string name : {"dwarf_basic-gcc-O2-5", "dwarf_basic-lto", "dwarf_basic-split", "dwarf_cxx-gcc-O2-5"}) {
        auto list = [](DwarfModule& module, const FunctionInstance& function) {
            std::string line = fmt::format("{:#x} {} {}", function.entry, function.name, function.inlined);
            for (const Variable& variable : module.variables_to_list(function, function.body))
                line += fmt::format(" {} {}", variable.name, type_name(variable.type));
            return line;
        };
        std::set<std::string> all, visited;
        std::unique_ptr<DwarfModule> module = open_module(name);
        for (const FunctionInstance& function : module->functions({}))
            all.insert(list(*module, function));
        for (uint64_t most_bytes : {0, 1 << 20}) {
            std::unique_ptr<DwarfModule> again = open_module(name);
            visited.clear();
            again->visit_functions(
                {}, [&](const FunctionInstance& function) { visited.insert(list(*again, function)); }, most_bytes);
            EXPECT_GT(visited.size(), 5u) << name;
            EXPECT_EQ(visited, all) << name;
        }
    }
}

TEST_P(EveryBuild, FindsInlinedCopies) {
    auto module = basic();
    std::vector<FunctionInstance> copies = module->functions(pattern("twice"));
    ASSERT_EQ(copies.size(), 2u);
    for (const FunctionInstance& copy : copies) {
        EXPECT_TRUE(copy.inlined);
        EXPECT_EQ(copy.body, copy.entry);
        EXPECT_EQ(copy.line, line_of("twice"));
        EXPECT_EQ(describe(module->parameters(copy)), "param int value");
    }
    Variable value = module->parameters(copies[0])[0];
    if (optimised()) {
        EXPECT_EQ(describe(module->locate(value, copies[0].entry)), of_host("register 5", "register 0"));
    }
    // The enclosing function keeps its own variables, even where a copy begins.
    FunctionInstance outer = function(*module, "use_inline");
    EXPECT_TRUE(variable(module->variables_in(outer, outer.body), "first"));
    EXPECT_FALSE(variable(module->variables_in(outer, outer.body), "value"));
}

TEST_P(EveryBuild, FindsStatements) {
    auto module = basic();
    std::string sum = std::to_string(line_of("sum"));
    std::vector<Statement> found = module->statements(pattern("add@dwarf_basic.c:" + sum));
    FunctionInstance add = function(*module, "add");
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].function.name, optimised() ? found[0].function.name : "add");
    EXPECT_EQ(found[0].line, line_of("sum"));
    EXPECT_GE(found[0].address, add.low);
    EXPECT_LT(found[0].address, add.high);
    EXPECT_EQ(module->statements(pattern("add@dwarf_basic.c+1"))[0].address, found[0].address);
    EXPECT_FALSE(module->statements(pattern("*@dwarf_basic.c:" + sum)).empty());
    EXPECT_TRUE(module->statements(pattern("main@dwarf_basic.c:" + sum)).empty() || optimised());
    EXPECT_TRUE(module->statements(pattern("*@dwarf_basic.c:2")).empty());
    EXPECT_TRUE(module->statements(pattern("*@nosuch.c:" + sum)).empty());
    // The function's own line is its first instruction.
    std::vector<Statement> opening = module->statements(pattern("add@dwarf_basic.c+0"));
    // clang writes no row for it on arm64 if the function has no prologue.
    EXPECT_EQ(opening.empty(), clang() && optimised() && of_host(false, true));
    for (const Statement& one : opening)
        EXPECT_EQ(one.address, add.entry);

    // A line of an inlined function occurs once for each copy.
    std::string doubled = std::to_string(line_of("doubled"));
    std::vector<Statement> copies = module->statements(pattern("twice@dwarf_basic.c:" + doubled));
    if (!clang() || !optimised()) {
        EXPECT_EQ(copies.size(), 2u);
    }
    for (const Statement& copy : copies)
        EXPECT_TRUE(copy.function.inlined);

    std::vector<int> lines = module->statement_lines("dwarf_basic.c");
    EXPECT_TRUE(std::binary_search(lines.begin(), lines.end(), line_of("return")));
    std::vector<Statement> all = module->statements(pattern("add@dwarf_basic.c:*"));
    for (const Statement& each : all)
        EXPECT_EQ(each.function.name, "add");
    if (!optimised()) {
        std::set<int> expected = {line_of("add"), line_of("sum"), line_of("return"), line_of("return") + 1}, actual;
        for (const Statement& each : all)
            actual.insert(each.line);
        if (!clang()) {
            EXPECT_EQ(actual, expected);
        }
        std::optional<Statement> there = module->statement_at(found[0].address + 1);
        ASSERT_TRUE(there);
        EXPECT_EQ(there->line, line_of("sum"));
        EXPECT_EQ(there->function.name, "add");
    }
    EXPECT_FALSE(module->statement_at(1));
    std::vector<std::string> files = module->source_files();
    EXPECT_TRUE(std::any_of(files.begin(), files.end(),
                            [](const std::string& file) { return file.ends_with("triggers/dwarf_other.c"); }));
}

TEST_P(EveryBuild, NamesTypes) {
    auto module = basic();
    EXPECT_EQ(describe(module->parameters(function(*module, "walk"))),
              "param struct node* node, param struct bits const* bits, param struct hidden* hidden, "
              "param word_t limit, param int volatile* flag, param void* nothing_known");
    std::string name = type_name(module->parameters(function(*module, "main"))[1].type);
    EXPECT_EQ(name, "char**");
    EXPECT_EQ(type_name(module->result_type(function(*module, "color_name"))), "char const*");
    EXPECT_EQ(module->result_type(function(*module, "nothing")), nullptr);
    EXPECT_EQ(type_name(nullptr), "void");
}

TEST_P(EveryBuild, ReadsRecords) {
    auto module = basic();
    std::vector<Variable> parameters = module->parameters(function(*module, "walk"));
    const Type* node = strip(strip(parameters[0].type)->target);
    ASSERT_EQ(node->kind, Type::Struct);
    EXPECT_EQ(node->size, 64u);
    EXPECT_EQ(type_name(find_member(node, "next")->type), "struct node*");
    EXPECT_EQ(find_member(node, "inner")->byte_offset, 16u);
    EXPECT_EQ(find_member(node, "letter")->byte_offset, 20u);
    EXPECT_EQ(type_name(find_member(node, "letter")->type), "char");
    EXPECT_EQ(type_name(find_member(node, "matrix")->type), "int[2][3]");
    EXPECT_EQ(strip(find_member(node, "matrix")->type)->size, 24u);
    EXPECT_EQ(type_name(find_member(node, "color")->type), "enum color");
    EXPECT_EQ(type_name(find_member(node, "callback")->type), "int (*)(int, char const*)");
    EXPECT_EQ(type_name(find_member(node, "flexible")->type), "char[]");
    EXPECT_FALSE(strip(find_member(node, "flexible")->type)->count.value_or(0));
    EXPECT_FALSE(find_member(node, "nosuch"));
    EXPECT_EQ(member_names(node), (std::vector<std::string>{"next", "name", "inner", "number", "letter", "matrix",
                                                            "color", "callback", "flexible"}));
    const Type* color = strip(find_member(node, "color")->type);
    EXPECT_FALSE(color->is_signed);
    ASSERT_EQ(color->enumerators.size(), 3u);
    EXPECT_EQ(color->enumerators[2].name, "BLUE");
    EXPECT_EQ(color->enumerators[2].value, 200);
    const Type* level = strip(module->parameters(function(*module, "color_name"))[1].type);
    EXPECT_TRUE(level->is_signed);
    EXPECT_EQ(level->enumerators[0].value, -1);

    const Type* bits = strip(strip(parameters[1].type)->target);
    TypeMember a = *find_member(bits, "a"), b = *find_member(bits, "b"), c = *find_member(bits, "c");
    auto position = [](const TypeMember& member) { return member.byte_offset * 8 + member.bit_offset; };
    EXPECT_EQ(position(a), 0u);
    EXPECT_EQ(a.bit_size, 3u);
    EXPECT_EQ(position(b), 3u);
    EXPECT_EQ(b.bit_size, 7u);
    EXPECT_TRUE(strip(b.type)->is_signed);
    EXPECT_EQ(position(c), 10u);
    EXPECT_EQ(c.bit_size, 40u);
    EXPECT_EQ(find_member(bits, "tail")->bit_size, 0u);
    EXPECT_EQ(find_member(bits, "tail")->byte_offset, 7u);

    // Declared in this unit, defined in the other.
    const Type* hidden = strip(strip(parameters[2].type)->target);
    EXPECT_FALSE(hidden->incomplete);
    EXPECT_EQ(hidden->size, 16u);
    EXPECT_EQ(find_member(hidden, "deep")->byte_offset, 8u);
}

TEST_P(EveryBuild, LocatesParameters) {
    auto module = basic();
    FunctionInstance add = function(*module, "add");
    std::vector<Variable> parameters = module->parameters(add);
    ASSERT_EQ(describe(parameters), "param int left, param int right");
    Location left = module->locate(parameters[0], add.body);
    if (optimised()) {
        EXPECT_EQ(describe(left), of_host("register 5", "register 0"));
        EXPECT_EQ(describe(module->locate(parameters[1], add.body)), of_host("register 4", "register 1"));
    } else {
        EXPECT_EQ(describe(left), of_host(clang() ? "memory reg 6 const -4 add" : "memory reg 6 const -20 add",
                                          "memory reg 31 const 12 add"));
        EXPECT_EQ(describe(module->variables_at(add.body)), "param int left, param int right, int sum");
    }
    FunctionInstance many = function(*module, "many");
    Variable seventh = module->parameters(many).at(6);
    Location stacked = module->locate(seventh, many.body);
    // On the stack above the return address: relative to rbp after the prologue, and to rsp without a prologue. On
    // arm64, it is in a register.
    std::string expected = optimised() ? of_host("memory reg 7 const 8 add", "register 6")
                                       : of_host("memory reg 6 const 16 add", "memory reg 31 const 20 add");
    if (!(clang() && optimised())) {
        EXPECT_EQ(describe(stacked), expected);
    }

    FunctionInstance vla = function(*module, "variable_length");
    std::vector<Statement> statements =
        module->statements(pattern("variable_length@dwarf_basic.c:" + std::to_string(line_of("vla"))));
    ASSERT_FALSE(statements.empty());
    std::optional<Variable> array = variable(module->variables_in(vla, statements[0].address), "array");
    ASSERT_TRUE(array);
    EXPECT_EQ(type_name(array->type), "int[]");
}

TEST_P(EveryBuild, FindsScopes) {
    auto module = basic();
    FunctionInstance walk = function(*module, "walk");
    EXPECT_FALSE(variable(module->variables_in(walk, walk.entry), "scoped"));
    std::vector<Statement> inside =
        module->statements(pattern("walk@dwarf_basic.c:" + std::to_string(line_of("scoped") + 1)));
    ASSERT_FALSE(inside.empty());
    std::vector<Variable> variables = module->variables_at(inside[0].address);
    ASSERT_TRUE(variable(variables, "scoped")) << describe(variables);
    EXPECT_EQ(variables[0].name, "scoped"); // innermost first
    EXPECT_TRUE(variable(variables, "node"));
    EXPECT_FALSE(variable(variables, "global_counter"));
    std::vector<Variable> all = module->variables_at(inside[0].address, true);
    std::optional<Variable> global = variable(all, "global_counter");
    ASSERT_TRUE(global);
    EXPECT_TRUE(global->is_global);
    EXPECT_TRUE(module->global_address(*global));
    // Position-independent: at the same distance from the program counter as linked.
    Location place = module->locate(*global, walk.entry);
    ASSERT_EQ(place.kind, Location::Memory);
    ASSERT_EQ(place.ops.size(), 3u);
    EXPECT_EQ(place.ops[0].operand, of_host(16, 32)); // rip or pc
    EXPECT_EQ(place.ops[1].operand, static_cast<int64_t>(*module->global_address(*global) - walk.entry));
    if (!clang()) { // clang omits variables that are only declared
        std::optional<Variable> other = variable(all, "other_global");
        ASSERT_TRUE(other);
        EXPECT_TRUE(other->is_global);
        EXPECT_TRUE(module->global_address(*other)); // defined in the other unit
    }
}

TEST_P(EveryBuild, LocatesResults) {
    auto module = basic();
    auto result = [&](const char* name) {
        return describe(module->calling_convention().result_location(function(*module, name)));
    };
    EXPECT_EQ(result("add"), "register 0");
    EXPECT_EQ(result("is_even"), "register 0");
    EXPECT_EQ(result("color_name"), "register 0");
    EXPECT_EQ(result("make_point"), "register 0");
    EXPECT_EQ(result("make_pair"), "[8 register 0][8 register 1]");
    EXPECT_EQ(result("make_large"), of_host("memory reg 0", "memory reg 8"));
    // A structure of an integer and a floating point number, which arm64 returns in general registers.
    EXPECT_TRUE(
        result("make_mixed")
            .starts_with(of_host("[8 register 0][8 <is returned in a floating point", "[8 register 0][8 register 1]")))
        << result("make_mixed");
    EXPECT_EQ(result("make_double"), "<is returned in a floating point register, which a probe cannot read>");
    EXPECT_EQ(result("nothing"), "<does not exist: the function returns nothing>");
}

TEST(Dwarf, SaysWhereVariablesAre) {
    auto module = open_module("dwarf_basic-gcc-O2-5");
    FunctionInstance use = function(*module, "use_inline");
    std::optional<Variable> b = variable(module->variables_in(use, use.entry), "b");
    ASSERT_TRUE(b);
    std::string why = module->locate(*b, use.entry).why;
    EXPECT_TRUE(why.starts_with("was optimized out at this address; it is available at line")) << why;
    // Known by DW_OP_entry_value only; at the entry, this is the register.
    FunctionInstance clobber = function(*module, "clobber");
    EXPECT_TRUE(variable(module->variables_in(clobber, clobber.entry), "value"));
}

// The first thread-local variable of a program that has 4 bytes of them: before the thread pointer, or behind its
// table.
std::string in_program_block() {
    return of_host("memory const 0 thread add const -4 add", "memory const 0 thread add const 16 add");
}

TEST(Dwarf, FixedAddresses) {
    auto module = open_module("dwarf_basic-fixed");
    EXPECT_FALSE(module->file().position_independent());
    FunctionInstance main = function(*module, "main");
    std::vector<Variable> all = module->variables_at(main.entry, true);
    Variable counter = *variable(all, "global_counter");
    Location place = module->locate(counter, main.entry);
    ASSERT_EQ(place.kind, Location::Memory);
    ASSERT_EQ(place.ops.size(), 1u);
    EXPECT_EQ(place.ops[0].code, LocationOp::Constant);
    EXPECT_EQ(static_cast<Address>(place.ops[0].operand), module->global_address(counter));
    EXPECT_EQ(describe(module->locate(*variable(all, "per_thread"), main.entry)), in_program_block());
}

TEST(Dwarf, ThreadLocals) {
    auto program = open_module("dwarf_basic-gcc-O0-5");
    FunctionInstance main = function(*program, "main");
    EXPECT_EQ(describe(program->locate(*variable(program->variables_at(main.entry, true), "per_thread"), main.entry)),
              in_program_block());
    auto library = open_module("dwarf_basic-library");
    main = function(*library, "main");
    // Through the thread's table of blocks and the library's number in it, which is stored at a fixed distance from the
    // program counter. Libraries for arm64 have a descriptor of each variable instead.
    std::string place =
        describe(library->locate(*variable(library->variables_at(main.entry, true), "per_thread"), main.entry));
    EXPECT_TRUE(place.starts_with(
        of_host("memory const 0 thread const 8 add deref 8 reg 16 const ", "memory const 0 reg 32 const ")))
        << place;
    EXPECT_TRUE(place.ends_with(
        of_host(" add deref 8 const 16 mul add deref 8 add", " add deref 8 const 0 deref 8 choose choose add")))
        << place;
}

TEST(Dwarf, SeparateDebugFiles) {
    for (const char* name : {"dwarf_basic-id", "dwarf_basic-crc"}) {
        auto module = open_module(name);
        EXPECT_TRUE(module->has_debug_info()) << name;
        EXPECT_EQ(module->file().build_id().empty(), std::string(name) == "dwarf_basic-crc");
        FunctionInstance add = function(*module, "add");
        // The frame comes from the stripped file's .eh_frame.
        EXPECT_EQ(describe(module->locate(module->parameters(add)[0], add.body)),
                  of_host("memory reg 6 const -20 add", "memory reg 31 const 12 add"));
    }
    // The file of another build is not accepted.
    std::filesystem::path folder = std::filesystem::temp_directory_path() / ("dwarf_test." + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    std::filesystem::copy_file(triggers() + "dwarf_basic-crc", folder / "dwarf_basic-crc");
    std::filesystem::copy_file(triggers() + "dwarf_basic-id.debug", folder / "dwarf_basic-crc.debug");
    Result<std::unique_ptr<DwarfModule>> other = DwarfModule::open((folder / "dwarf_basic-crc").string());
    ASSERT_TRUE(other.ok());
    EXPECT_FALSE((*other)->has_debug_info());
    std::filesystem::remove_all(folder);
}

TEST(Dwarf, SplitDebugInformation) {
    auto module = open_module("dwarf_basic-split");
    FunctionInstance add = function(*module, "add");
    EXPECT_EQ(describe(module->variables_at(add.body)), "param int left, param int right, int sum");
    EXPECT_EQ(module->statements(pattern("add@dwarf_basic.c+1")).size(), 1u);
}

TEST(Dwarf, LinkTimeOptimisation) {
    auto module = open_module("dwarf_basic-lto");
    std::vector<FunctionInstance> walk = module->functions(pattern("walk"));
    ASSERT_FALSE(walk.empty());
    EXPECT_EQ(describe(module->parameters(walk[0])).substr(0, 23), "param struct node* node");
}

TEST(Dwarf, NoDebugInformation) {
    auto module = open_module("dwarf_basic-plain");
    EXPECT_FALSE(module->has_debug_info());
    FunctionInstance add = function(*module, "add");
    EXPECT_FALSE(add.has_debug_info);
    EXPECT_EQ(add.body, add.entry);
    EXPECT_TRUE(module->parameters(add).empty());
    EXPECT_EQ(module->calling_convention().result_location(add).kind, Location::Unavailable);
    EXPECT_EQ(module->statement_at(add.entry + 1)->function.name, "add");
    EXPECT_TRUE(module->statements(pattern("*@*:1")).empty());
}

TEST_P(EveryBuild, CxxNames) {
    auto module = cxx();
    EXPECT_EQ(module->functions(pattern("area")).size(), 2u);
    FunctionInstance method = function(*module, "ns::Shape::area");
    EXPECT_EQ(method.name, "ns::Shape::area");
    EXPECT_EQ(method.linkage_name.substr(0, 2), "_Z");
    EXPECT_EQ(function(*module, "Shape::area").entry, method.entry);
    EXPECT_EQ(function(*module, method.linkage_name).entry, method.entry);
    std::vector<Variable> parameters = module->parameters(method);
    ASSERT_FALSE(parameters.empty());
    EXPECT_EQ(parameters[0].name, "this");
    const Type* shape = strip(strip(parameters[0].type)->target);
    EXPECT_EQ(find_member(shape, "size_")->byte_offset, 4u);
    EXPECT_EQ(find_member(shape, "base_member")->byte_offset, 0u); // through the base class
    EXPECT_FALSE(find_member(shape, "shared"));                    // static
    EXPECT_EQ(module->functions(pattern("secret")).size(), 1u);
    EXPECT_EQ(module->functions(pattern("ns::(anonymous namespace)::secret")).size(), 1u);
    EXPECT_EQ(module->functions(pattern("twice")).size(), 2u);
    EXPECT_EQ(module->functions(pattern("twice<int>")).size(), 1u);
    EXPECT_EQ(module->functions(pattern("ns::twice")).size(), 2u);
    EXPECT_EQ(module->functions(pattern("ns::*")).empty(), false);
    // Not trivially copyable: in the caller's memory, even though it would fit into a register.
    EXPECT_EQ(describe(module->calling_convention().result_location(function(*module, "ns::make_guard"))),
              of_host("memory reg 0", "memory reg 8"));
    FunctionInstance area = function(*module, "ns::area");
    EXPECT_EQ(describe(module->parameters(area)), "param struct Shape const& shape, param bool flag");
}

TEST_P(EveryBuild, CxxFindsEveryFunction) {
    auto module = cxx();
    auto found = [&](const std::string& text) {
        std::set<std::string> names;
        for (const FunctionInstance& each : module->functions(pattern(text)))
            if (!each.inlined)
                names.insert(each.name);
        return names;
    };
    using Names = std::set<std::string>;
    // All functions of the program have more than a symbol.
    for (const FunctionInstance& each : module->functions(pattern("*")))
        EXPECT_TRUE(each.has_debug_info || !each.name.starts_with("_Z")) << each.name;
    Names all = found("*");
    for (const char* name :
         {"main", "ns::Shape::area", "ns::area", "ns::make_guard", "ns::use_deep", "ns::deep::v1::sum",
          "ns::(anonymous namespace)::secret", "ns::deep::v1::Box<int>::get", "ns::deep::v1::Box<int>::Lid::open"})
        EXPECT_TRUE(all.contains(name)) << name;
    // An unqualified name is searched in all scopes; a pattern also matches qualified names.
    EXPECT_EQ(found("get"), Names{"ns::deep::v1::Box<int>::get"});
    EXPECT_EQ(found("open"), Names{"ns::deep::v1::Box<int>::Lid::open"});
    EXPECT_EQ(found("ns"), Names{});
    EXPECT_EQ(found("ns*"), found("ns::*"));
    EXPECT_EQ(found("convert").size(), 1u);
    // A qualified name may omit outer scopes, template arguments, and inline and anonymous namespaces.
    for (const char* text : {"ns::deep::v1::Box<int>::get", "ns::deep::v1::Box::get", "ns::deep::Box<int>::get",
                             "deep::Box::get", "Box::get", "Box<int>::get", "Box*::get", "ns::*::get"})
        EXPECT_EQ(found(text), Names{"ns::deep::v1::Box<int>::get"}) << text;
    EXPECT_EQ(found("Box::convert"), found("convert"));
    EXPECT_EQ(found("Box::Lid::open").size(), 1u);
    EXPECT_EQ(found("Box::count").size(), 1u);
    EXPECT_EQ(found("ns::secret"), Names{"ns::(anonymous namespace)::secret"});
    EXPECT_EQ(found("deep::get"), Names{});
    EXPECT_EQ(found("v1::area"), Names{});
    // After the prologue, also in a function with its own section.
    EXPECT_EQ(function(*module, "twice<int>").body == function(*module, "twice<int>").entry, optimised());
    std::vector<std::string> names = module->function_names();
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), "convert"));
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), "ns::Shape::area"));
    EXPECT_TRUE(std::none_of(names.begin(), names.end(), [](const auto& name) { return name.starts_with("_Z"); }));
}

// A function that is searched by name in a fresh module is the same as in the list of all functions.
void expect_found_by_name(const std::string& program) {
    std::map<std::string, std::set<Address>> all;
    for (const FunctionInstance& each : open_module(program)->functions(pattern("*")))
        if (each.has_debug_info)
            all[each.name].insert(each.entry);
    EXPECT_GT(all.size(), 5u) << program;
    for (const auto& [name, entries] : all) {
        std::set<Address> found;
        Result<FunctionPattern> wanted = FunctionPattern::parse(name);
        ASSERT_TRUE(wanted.ok()) << name;
        for (const FunctionInstance& each : open_module(program)->functions(*wanted))
            found.insert(each.entry);
        EXPECT_TRUE(std::includes(found.begin(), found.end(), entries.begin(), entries.end()))
            << program << " " << name << ": " << found.size() << " of " << entries.size();
    }
}

TEST_P(EveryBuild, FindsByNameWhatTheListHas) {
    expect_found_by_name(basic()->path().substr(triggers().size()));
    expect_found_by_name(cxx()->path().substr(triggers().size()));
}

TEST(Dwarf, FindsByNameInEveryLayout) {
    for (const char* name : {"dwarf_basic-lto", "dwarf_basic-split", "dwarf_basic-id", "dwarf_basic-library"})
        expect_found_by_name(name);
}

TEST_P(EveryBuild, FindsTypes) {
    auto module = basic();
    auto name_of = [&](const char* name) {
        const Type* type = module->find_type(name);
        return type ? type_name(type) : "none";
    };
    EXPECT_EQ(name_of("struct node"), "struct node");
    EXPECT_EQ(name_of("node"), "struct node");
    EXPECT_EQ(name_of(" const struct  node * const*"), "struct node**");
    EXPECT_EQ(name_of("word_t"), "word_t");
    EXPECT_EQ(name_of("enum color"), "enum color");
    EXPECT_EQ(name_of("color*"), "enum color*");
    EXPECT_EQ(name_of("int"), "int");
    EXPECT_EQ(name_of("char const*"), "char*");
    EXPECT_EQ(name_of("unsigned long int"), name_of("unsigned long"));
    EXPECT_EQ(strip(module->find_type("long unsigned int"))->size, 8u);
    EXPECT_EQ(name_of("void*"), "void*");
    EXPECT_EQ(module->find_type("void*")->target, nullptr);
    for (const char* unknown : {"", "*", "struct", "struct color", "union node", "enum node", "struct word_t", "nosuch",
                                "x::node", "signed unsigned"})
        EXPECT_EQ(module->find_type(unknown), nullptr) << unknown;
    EXPECT_EQ(find_member(module->find_type("struct node"), "matrix")->byte_offset, 24u);
    // Defined in the other unit.
    EXPECT_EQ(find_member(module->find_type("struct hidden"), "deep")->byte_offset, 8u);
    std::vector<std::string> names = module->type_names();
    for (const char* name : {"struct node", "node", "word_t", "int", "enum color"})
        EXPECT_TRUE(std::binary_search(names.begin(), names.end(), name)) << name;
}

TEST_P(EveryBuild, FindsCxxTypes) {
    auto module = cxx();
    const Type* shape = module->find_type("ns::Shape");
    ASSERT_TRUE(shape);
    for (const char* name : {"Shape", "class Shape", "struct ns::Shape", "::ns::Shape"})
        EXPECT_EQ(module->find_type(name), shape) << name;
    EXPECT_EQ(find_member(shape, "base_member")->byte_offset, 0u);
    EXPECT_EQ(module->find_type("ns::Shape*")->target, shape);
    EXPECT_EQ(module->find_type("Base::Shape"), nullptr);
    const Type* box = module->find_type("ns::deep::Box<int>");
    ASSERT_TRUE(box);
    EXPECT_EQ(module->find_type("ns::deep::v1::Box<int>"), box);
    EXPECT_EQ(module->find_type("Box<int>"), box);
    EXPECT_EQ(strip(find_member(box, "value_")->type)->size, 4u);
    EXPECT_EQ(strip(module->find_type("Box<int>::Lid"))->size, 4u);
    EXPECT_EQ(module->find_type("deep::Side")->kind, Type::Enum);
}

TEST_P(EveryBuild, FindsGlobals) {
    auto module = basic();
    std::vector<Variable> found = module->globals("global_counter");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].is_global);
    EXPECT_TRUE(found[0].external);
    EXPECT_TRUE(found[0].file.ends_with("triggers/dwarf_basic.c")) << found[0].file;
    EXPECT_TRUE(module->global_address(found[0]));
    EXPECT_EQ(module->globals("global_counter", "dwarf_basic.c").size(), 1u);
    EXPECT_EQ(module->globals("global_counter", "dwarf_other.c").size(), 0u);
    EXPECT_EQ(module->globals("other_global", "triggers/dwarf_*.c").size(), 1u);
    EXPECT_EQ(module->globals("nosuch").size(), 0u);
    std::vector<std::string> names = module->global_names();
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), "other_global"));
    auto with_classes = cxx();
    for (const char* name : {"shared", "Base::shared", "ns::Base::shared"}) {
        found = with_classes->globals(name);
        ASSERT_EQ(found.size(), 1u) << name;
        EXPECT_TRUE(with_classes->global_address(found[0])) << name;
    }
    EXPECT_EQ(with_classes->globals("Shape::shared").size(), 0u);
    // Declared in its namespace and defined outside (g++).
    FunctionInstance main = function(*with_classes, "main");
    std::optional<Variable> anonymous = variable(with_classes->variables_in(main, main.body, true), "inside");
    ASSERT_TRUE(anonymous);
    EXPECT_TRUE(with_classes->global_address(*anonymous));
    EXPECT_EQ(with_classes->globals("ns::inside").size(), 1u);
}

TEST(Dwarf, RefusesWhatIsNoProgram) {
    for (const std::string& path : {std::string("/nonexistent/file"), std::string("/"), triggers() + "dwarf_basic.c"}) {
        Result<std::unique_ptr<DwarfModule>> module = DwarfModule::open(path);
        ASSERT_FALSE(module.ok()) << path;
        EXPECT_FALSE(module.error().message.empty());
    }
}

// Asks everything that a session may ask, for any contents of the file.
void ask_everything(const std::string& path, bool object) {
    Result<std::unique_ptr<DwarfModule>> opened = DwarfModule::open(path, object);
    if (!opened)
        return;
    DwarfModule& module = **opened;
    module.function_names();
    module.source_files();
    module.statement_lines("dwarf_basic.c");
    module.type_names();
    module.global_names();
    for (const char* name : {"struct node", "word_t", "unsigned long", "ns::deep::Box<int>*", "hidden"})
        if (const Type* type = strip(module.find_type(name)))
            member_names(type);
    for (const char* name : {"global_counter", "ns::Base::shared", "x::per_thread"})
        for (const Variable& found : module.globals(name))
            module.global_address(found);
    size_t asked = 0;
    for (const FunctionInstance& each : module.functions(FunctionPattern())) {
        if (asked++ > 60)
            break;
        module.parameters(each);
        module.calling_convention().result_location(each);
        for (Address address : {each.entry, each.body, (each.low + each.high) / 2})
            for (const Variable& found : module.variables_in(each, address, true)) {
                module.locate(found, address);
                module.global_address(found);
                type_name(found.type);
                const Type* type = strip(found.type);
                if (type && type->target)
                    member_names(type->target);
                member_names(type);
            }
    }
    for (const Statement& each : module.statements(pattern("*@*:*")))
        if (asked++ < 300)
            module.statement_at(each.address + 1);
}

// A kernel module is an object file, whose sections have no common addresses.
TEST(Dwarf, ObjectIsReadLikeAProgram) {
    Result<std::unique_ptr<DwarfModule>> opened = DwarfModule::open(triggers() + "dwarf_basic-object", true);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    DwarfModule& module = **opened;
    std::set<Address> entries;
    for (const char* name : {"add", "use_inline", "walk", "main"}) {
        FunctionInstance found = function(module, name);
        EXPECT_TRUE(entries.insert(found.entry).second) << name;
        EXPECT_EQ(module.symbols().at(found.entry + 1), std::pair(std::string(name), found.entry));
        EXPECT_EQ(module.symbols().unique_before(found.entry + 1), std::pair(std::string(name), found.entry));
    }
    FunctionInstance add = function(module, "add");
    std::vector<Statement> lines = module.statements(pattern(fmt::format("add@dwarf_basic.c:{}", line_of("return"))));
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_TRUE(lines[0].address > add.low && lines[0].address < add.high);
    std::vector<Variable> variables = module.variables_at(lines[0].address);
    EXPECT_EQ(describe(variables), "param int left, param int right, int sum");
    for (const Variable& one : variables)
        EXPECT_EQ(module.locate(one, lines[0].address).kind, Location::Memory) << one.name;
    for (const char* name : {"global_counter", "file_static"}) {
        std::vector<Variable> found = module.globals(name);
        ASSERT_EQ(found.size(), 1u) << name;
        std::optional<Address> at = module.global_address(found[0]);
        ASSERT_TRUE(at) << name;
        EXPECT_EQ(at, module.symbols().address_of(name));
        EXPECT_EQ(module.symbols().unique_variable_before(*at + 1), std::pair(std::string(name), *at));
    }
    EXPECT_FALSE(DwarfModule::open(triggers() + "dwarf_basic-fixed", true).ok());
    EXPECT_FALSE(DwarfModule::open(triggers() + "dwarf_basic.c", true).ok());
}

// The file claims that a function has more bytes than there is memory.
TEST(Dwarf, ReadsNoMoreCodeThanThereIs) {
    std::ifstream file(triggers() + "dwarf_basic-gcc-O0-4", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    FunctionInstance walk = function(*open_module("dwarf_basic-gcc-O0-4"), "walk");
    auto as_bytes = [](uint64_t value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
    size_t at = bytes.find(as_bytes(walk.low) + as_bytes(walk.high - walk.low)); // DW_AT_low_pc, DW_AT_high_pc
    ASSERT_NE(at, std::string::npos);
    bytes.replace(at + 8, 8, as_bytes(UINT64_MAX / 4));
    std::string path = (std::filesystem::temp_directory_path() / ("dwarf_test." + std::to_string(getpid()))).string();
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    Result<std::unique_ptr<DwarfModule>> module = DwarfModule::open(path);
    ASSERT_TRUE(module.ok());
    FunctionInstance large = function(**module, "walk");
    EXPECT_GT(large.high, UINT64_MAX / 4);
    EXPECT_TRUE((*module)->calls(large).empty());
    std::filesystem::remove(path);
}

class Corrupt : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Dwarf, Corrupt,
                         testing::Values("dwarf_basic-gcc-O2-5", "dwarf_basic-clang-O2-4", "dwarf_cxx-clang-O0-5",
                                         "dwarf_basic-gcc-O0-4", "dwarf_basic-object"),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST_P(Corrupt, NeverCrashes) {
    std::ifstream file(triggers() + GetParam(), std::ios::binary);
    std::string good((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    ASSERT_GT(good.size(), 4096u);
    std::string path = (std::filesystem::temp_directory_path() / ("dwarf_test." + std::to_string(getpid()))).string();
    auto try_bytes = [&](const std::string& bytes) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
        ask_everything(path, std::string_view(GetParam()).ends_with("object"));
    };
    // SONDE_FUZZ_ROUNDS: more rounds by hand; the default keeps the test short.
    const char* rounds_text = getenv("SONDE_FUZZ_ROUNDS");
    int rounds = rounds_text ? atoi(rounds_text) : 40;
    std::mt19937 random(12345);
    for (int round = 0; round < rounds; round++)
        try_bytes(good.substr(0, good.size() * static_cast<size_t>(round) / static_cast<size_t>(rounds)));
    for (int round = 0; round < rounds; round++) {
        std::string bad = good;
        int flips = 1 << (round % 8);
        for (int flip = 0; flip < flips; flip++)
            bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
        SCOPED_TRACE(round);
        try_bytes(bad);
    }
    std::filesystem::remove(path);
}

} // namespace
} // namespace sonde

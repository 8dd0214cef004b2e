// Go programs (tests/triggers/golang.go), and the table of functions in the layouts of several versions.
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "base/go_table.h"
#include "frontend/dwarf/dwarf_module.h"
#include "frontend/dwarf/return_sites.h"
#include "tests/unit/of_host.h"

namespace sonde {
namespace {

std::unique_ptr<DwarfModule> open_module(const std::string& name) {
    Result<std::unique_ptr<DwarfModule>> module = DwarfModule::open(SONDE_TRIGGERS "/" + name);
    EXPECT_TRUE(module.ok()) << name;
    return *std::move(module);
}

std::vector<FunctionInstance> functions(DwarfModule& module, const std::string& name) {
    std::vector<FunctionInstance> found = module.functions(*FunctionPattern::parse(name));
    std::erase_if(found, [](const FunctionInstance& one) { return one.inlined; });
    return found;
}

// The names, separated by spaces.
std::string names(DwarfModule& module, const std::string& pattern) {
    std::string text;
    for (const FunctionInstance& one : functions(module, pattern))
        text += (text.empty() ? "" : " ") + one.name;
    return text;
}

std::string describe(const Location& location) {
    switch (location.kind) {
    case Location::Register:
        return "r" + std::to_string(location.reg);
    case Location::Memory: // a register and a distance
        return location.ops.size() == 3 ? "[r" + std::to_string(location.ops[0].operand) + "+" +
                                              std::to_string(location.ops[1].operand) + "]"
                                        : "memory";
    case Location::Pieces: {
        std::string text;
        for (const Location::Piece& piece : location.pieces)
            text += (text.empty() ? "" : " ") + describe(piece.place) + ":" + std::to_string(piece.byte_size);
        return text;
    }
    default:
        return "?";
    }
}

// The results of the only function with this name.
std::string results(DwarfModule& module, const std::string& name) {
    std::vector<FunctionInstance> found = functions(module, name);
    if (found.size() != 1)
        return std::to_string(found.size()) + " functions";
    std::string text;
    for (const Variable& one : module.results(found[0]))
        text += (text.empty() ? "" : ", ") + one.name + (one.name.empty() ? "" : " ") +
                describe(module.calling_convention().result_location(found[0], one));
    return text;
}

std::string parameters(DwarfModule& module, const std::string& name) {
    std::vector<FunctionInstance> found = functions(module, name);
    if (found.size() != 1)
        return std::to_string(found.size()) + " functions";
    std::string text;
    for (const Variable& one : module.parameters(found[0]))
        text += (text.empty() ? "" : ", ") + one.name + " " + describe(module.locate(one, found[0].body));
    return text;
}

TEST(Go, Names) {
    for (const char* program : {"golang", "golang-plain", "golang-stripped"}) {
        std::unique_ptr<DwarfModule> module = open_module(program);
        EXPECT_EQ(names(*module, "main.divide"), "main.divide") << program;
        EXPECT_EQ(names(*module, "divide"), "main.divide") << program;
        EXPECT_EQ(names(*module, "main.d*"), "main.divide main.deep") << program;
        // The star of a receiver is not a wildcard.
        EXPECT_EQ(names(*module, "main.(*Server).Serve"), "main.(*Server).Serve") << program;
        EXPECT_EQ(names(*module, "main.(*erver).Serve"), "") << program;
        EXPECT_EQ(names(*module, "main.(*).Serve"), "main.(*Server).Serve") << program;
        EXPECT_EQ(names(*module, "main.recovered.func1"), "main.recovered.func1") << program;
        EXPECT_FALSE(functions(*module, "main.Max").empty()) << program;
        EXPECT_FALSE(functions(*module, "main.(*List).Push").empty()) << program;
        EXPECT_FALSE(functions(*module, "main.(*List[...]).Push").empty()) << program;
    }
    EXPECT_EQ(names(*open_module("golang"), "main.Max"), "main.Max[go.shape.int_0] main.Max[go.shape.string_0]");
    EXPECT_EQ(names(*open_module("golang"), "main.Max[go.shape.int_0]"), "main.Max[go.shape.int_0]");
}

TEST(Go, Versions) {
    auto build_info = [](std::string text, char flags = 2) {
        std::string out = "\xff Go buildinf:";
        out += std::string(1, '\x08') + flags + std::string(16, '\0');
        return out + static_cast<char>(text.size()) + text;
    };
    EXPECT_EQ(read_go_version(build_info("go1.19.8")), 19);
    EXPECT_EQ(read_go_version(build_info("go1.23")), 23);
    EXPECT_EQ(read_go_version(build_info("devel go1.25-b66107 Thu Jul 3")), 25);
    EXPECT_EQ(read_go_version(build_info("go1.17.13", 0)), std::nullopt); // stored behind a pointer
    for (const std::string& bad :
         {build_info("gccgo 12"), build_info("go1."), build_info(""), std::string("\xff Go build"),
          build_info("go1.19").substr(0, 33), std::string(40, 'x')})
        EXPECT_EQ(read_go_version(bad), std::nullopt);
    EXPECT_EQ(go_layout(22)->goid, 152u);
    EXPECT_EQ(go_layout(24)->goid, 160u);
    EXPECT_EQ(go_layout(25)->curg, 184u);
    EXPECT_FALSE(go_layout(17) || go_layout(28));
}

TEST(Go, CheckOfTheStack) {
    for (const char* program : {"golang", "golang-plain", "golang-stripped"}) {
        std::unique_ptr<DwarfModule> module = open_module(program);
        std::vector<FunctionInstance> found = functions(*module, "main.divide");
        ASSERT_EQ(found.size(), 1u);
        EXPECT_TRUE(found[0].is_go);
        EXPECT_EQ(found[0].has_debug_info, std::string(program) != "golang-stripped");
        EXPECT_TRUE(found[0].checks_stack);
        EXPECT_EQ(found[0].body, found[0].entry + of_host(4u, 8u)) << program; // after the comparison
    }
    std::unique_ptr<DwarfModule> module = open_module("golang");
    std::vector<FunctionInstance> leaf = functions(*module, "main.add");
    ASSERT_EQ(leaf.size(), 1u);
    EXPECT_EQ(leaf[0].body, leaf[0].entry);
    EXPECT_FALSE(leaf[0].checks_stack);
}

TEST(Go, Parameters) {
    for (const char* program : {"golang", "golang-plain"}) {
        std::unique_ptr<DwarfModule> module = open_module(program);
        EXPECT_EQ(parameters(*module, "main.add"), of_host("a r0, b r3", "a r0, b r1")) << program;
        EXPECT_EQ(parameters(*module, "main.greet"), of_host("name r0:8 r3:8, times r2", "name r0:8 r1:8, times r2"))
            << program;
        EXPECT_EQ(parameters(*module, "main.(*Server).Serve"),
                  of_host("s r0, path r3:8 r2:8, p r5:4 r4:4 r8:8 r9:8", "s r0, path r1:8 r2:8, p r3:4 r4:4 r5:8 r6:8"))
            << program;
        // One is in a floating point register, and one has no name.
        EXPECT_EQ(parameters(*module, "main.mixed"),
                  of_host("m r0, key r3:8 r2:8, f ?, flag r5, c r8", "m r0, key r1:8 r2:8, f ?, flag r3, c r5"))
            << program;
        EXPECT_EQ(parameters(*module, "main.many"),
                  of_host("a r0, b r3, c r2, d r5, e r4, f r8, g r9, h r10, i r11, j [r7+8], k [r7+16], l [r7+32]",
                          "a r0, b r1, c r2, d r3, e r4, f r5, g r6, h r7, i r8, j r9, k [r31+8], l r10"))
            << program;
    }
}

TEST(Go, Results) {
    for (const char* program : {"golang", "golang-plain"}) {
        std::unique_ptr<DwarfModule> module = open_module(program);
        EXPECT_EQ(results(*module, "main.add"), "r0") << program;
        EXPECT_EQ(results(*module, "main.greet"), of_host("r0:8 r3:8", "r0:8 r1:8")) << program;
        EXPECT_EQ(results(*module, "main.divide"), of_host("quotient r0, err r3:8 r2:8", "quotient r0, err r1:8 r2:8"))
            << program;
        EXPECT_EQ(results(*module, "main.(*Server).Serve"), of_host("r0, r3:8 r2:8", "r0, r1:8 r2:8")) << program;
        EXPECT_EQ(results(*module, "main.Point.Move"), of_host("r0:4 r3:4 r2:8 r5:8", "r0:4 r1:4 r2:8 r3:8"))
            << program;
        // After the arguments on the stack.
        EXPECT_EQ(results(*module, "main.many"), of_host("r0, r3, [r7+40]", "r0, r1, [r31+24]")) << program;
    }
}

TEST(Go, ReturnSites) {
    std::unique_ptr<DwarfModule> module = open_module("golang");
    auto count = [&](const char* name) {
        Result<std::vector<FunctionExit>> sites = module->returns().find(functions(*module, name)[0], false);
        return sites ? sites->size() : 0;
    };
    EXPECT_EQ(count("main.add"), 1u);
    EXPECT_EQ(count("main.divide"), 2u);
    // Nearly all of the runtime can be decoded, and nearly all of its functions return. On arm64 the assembly has words
    // that are no instruction, and jumps with a frame on the stack to functions that never return.
    const std::set<std::string> unclear =
        of_host<std::set<std::string>>({}, {"runtime.rt0_go", "runtime.mcall", "runtime.systemstack_switch",
                                            "runtime.systemstack", "runtime.abort", "runtime.asyncPreempt"});
    size_t all = 0, known = 0;
    for (const FunctionInstance& one : functions(*module, "runtime.*")) {
        Result<std::vector<FunctionExit>> sites = module->returns().find(one, false);
        all++;
        known += sites.ok();
        EXPECT_TRUE(sites.ok() || unclear.contains(one.name) ||
                    sites.error().message.find("no return instruction") != std::string::npos)
            << sites.error().message;
    }
    EXPECT_GT(all, 500u);
    EXPECT_GT(known, all * 9 / 10);
}

// ---- the table ------------------------------------------------------------------------------------------------------

// Two functions, main.a at 0x401000 and main.b at 0x401040, up to 0x401050.
std::string make_table(uint32_t magic, uint64_t text) {
    bool counts_from_text = magic != 0xfffffffa;
    std::string out;
    auto add = [&](uint64_t value, size_t size) { out.append(reinterpret_cast<const char*>(&value), size); };
    size_t field = counts_from_text ? 4 : 8, words = counts_from_text ? 8 : 7;
    const std::string names("\0main.a\0main.b\0", 15);
    size_t header = 8 + 8 * words, functions = header + 16;
    add(magic, 4);
    add(0x08010000, 4); // two zeros, the smallest instruction, the size of an address
    add(2, 8);
    add(0, 8);
    if (counts_from_text)
        add(text, 8);
    add(header, 8); // names
    add(header, 8);
    add(header, 8);
    add(header, 8);
    add(functions, 8);
    out += names;
    out.resize(functions);
    uint64_t base = counts_from_text ? 0x401000 : 0;
    uint64_t record = 5 * field;
    for (uint64_t address : {0x401000, 0x401040}) {
        add(address - base, field);
        add(record + (address == 0x401000 ? 0 : field + 4), field);
    }
    add(0x401050 - base, field);
    for (int i = 0; i < 2; i++) {
        add(0x401000 + 0x40 * static_cast<uint64_t>(i) - base, field);
        add(i == 0 ? 1 : 8, 4);
    }
    return out;
}

TEST(GoTable, Versions) {
    for (uint32_t magic : {0xfffffffaU, 0xfffffff0U, 0xfffffff1U})
        for (uint64_t text : {0x401000, 0}) { // position-independent programs have 0
            std::string table = make_table(magic, text);
            std::vector<GoFunction> found = read_go_functions(table, 0x401000);
            ASSERT_EQ(found.size(), 2u) << magic;
            EXPECT_EQ(found[0].name, "main.a");
            EXPECT_EQ(found[0].address, 0x401000u);
            EXPECT_EQ(found[0].size, 0x40u);
            EXPECT_EQ(found[1].name, "main.b");
            EXPECT_EQ(found[1].address, 0x401040u);
            EXPECT_EQ(found[1].size, 0x10u);
        }
}

TEST(GoTable, Broken) {
    std::string table = make_table(0xfffffff0, 0x401000);
    // Wherever the table is truncated, nothing is read after its end.
    for (size_t size = 0; size < table.size(); size++)
        EXPECT_LE(read_go_functions(std::string(table, 0, size), 0).size(), 2u);
    table[0] = 0;
    EXPECT_TRUE(read_go_functions(table, 0).empty());
    std::string huge = make_table(0xfffffff0, 0x401000);
    memset(huge.data() + 8, 0xff, 8); // the number of functions
    EXPECT_TRUE(read_go_functions(huge, 0).empty());
}

} // namespace
} // namespace sonde

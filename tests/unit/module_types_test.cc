#include "codegen/c/module_types.h"

#include <bpf/btf.h>

#include <memory>

#include <gtest/gtest.h>

#include "codegen/c/kernel_declarations.h"

using namespace sonde;

namespace {

// For `struct holder { struct far *far; }`, clang checks the size, and the offsets of named members.
const std::string compared =
    "_Static_assert(sizeof(struct holder) == 8, \"C cannot lay out the kernel type `struct holder`\");\n"
    "_Static_assert(__builtin_offsetof(struct holder, far) == 0, \"C cannot lay out the kernel type `struct "
    "holder`\");\n";

using Types = std::unique_ptr<btf, decltype(&btf__free)>;

std::string bytes_of(const btf* types) {
    uint32_t size = 0;
    const void* data = btf__raw_data(types, &size);
    return {static_cast<const char*>(data), size};
}

// A kernel and its modules, whose types a test asks for.
class ModuleTypesTest : public testing::Test {
  protected:
    // struct holder { struct far* far; }, of which `far` is only declared
    ModuleTypesTest() {
        number_ = btf__add_int(kernel_.get(), "int", 4, BTF_INT_SIGNED);
        const int far_away = btf__add_fwd(kernel_.get(), "far", BTF_FWD_STRUCT);
        const int to_far = btf__add_ptr(kernel_.get(), far_away);
        btf__add_struct(kernel_.get(), "holder", 8);
        btf__add_field(kernel_.get(), "far", to_far, 0, 0);
        kernel_bytes_ = bytes_of(kernel_.get());
        modules_.names = [this] {
            asked_++;
            std::vector<std::string> names;
            for (const auto& [name, bytes] : bytes_)
                names.push_back(name);
            return names;
        };
        modules_.btf = [this](const std::string& module) -> Result<std::string> { return bytes_.at(module); };
    }

    // `fill` adds a module's own types.
    template <typename Fill> void add(const std::string& module, Fill fill) {
        Types types(btf__new_empty_split(kernel_.get()), btf__free);
        fill(types.get());
        bytes_[module] = bytes_of(types.get());
    }
    // struct NAME { int FIRST; int SECOND; }
    int add_pair(btf* to, const char* name, const char* first, const char* second) const {
        const int out = btf__add_struct(to, name, 8);
        btf__add_field(to, first, number_, 0, 0);
        btf__add_field(to, second, number_, 32, 0);
        return out;
    }
    std::string declare(ModuleTypes& types, const std::set<std::string>& names) const {
        Result<std::string> out = declare_kernel_types(types.btf(), names, types.kernel_count(), types.chosen());
        EXPECT_TRUE(out) << (out ? "" : out.error().message);
        return out ? *out : "";
    }

    Types kernel_{btf__new_empty(), btf__free};
    int number_ = 0;
    std::string kernel_bytes_;
    std::map<std::string, std::string> bytes_;
    CModules modules_;
    int asked_ = 0;
};

TEST_F(ModuleTypesTest, NoModuleIsReadUntilATypeIsMissing) {
    add("one", [&](btf* t) { add_pair(t, "far", "a", "b"); });
    ModuleTypes types(kernel_bytes_, modules_, {});
    EXPECT_EQ(declare(types, {"holder", "far"}),
              "struct far;\n\nstruct holder {\n\tstruct far *far;\n};\n\n" + compared);
    EXPECT_FALSE(types.find({}));
    EXPECT_EQ(asked_, 0);
    EXPECT_TRUE(types.find({{"struct", "far"}}));
    EXPECT_FALSE(types.find({{"struct", "far"}}));
    EXPECT_EQ(asked_, 1);
}

// A type that is declared in the kernel and defined in a module is one type in C.
TEST_F(ModuleTypesTest, WhatTheKernelDeclaresIsDefined) {
    add("one", [&](btf* t) { add_pair(t, "far", "a", "b"); });
    ModuleTypes types(kernel_bytes_, modules_, {});
    EXPECT_TRUE(types.find({{"struct", "far"}}));
    const std::string out = declare(types, {"holder", "far"});
    EXPECT_NE(out.find("struct holder {\n\tstruct far *far;\n};"), std::string::npos) << out;
    EXPECT_NE(out.find("struct far {\n\tint a;\n\tint b;\n};"), std::string::npos) << out;
    EXPECT_EQ(out.find("___"), std::string::npos) << out;
}

// The names and numbers of a second module's types are changed.
TEST_F(ModuleTypesTest, TypesOfTwoModules) {
    add("one", [&](btf* t) { btf__add_ptr(t, add_pair(t, "first", "p", "q")); });
    add("three", [&](btf*) {}); // without its own types
    add("two", [&](btf* t) {
        const int inner = add_pair(t, "inner", "r", "s"), to_inner = btf__add_ptr(t, inner);
        btf__add_struct(t, "second", 16);
        btf__add_field(t, "whole", inner, 0, 0);
        btf__add_field(t, "other", to_inner, 64, 0);
        btf__add_enum(t, nullptr, 4);
        btf__add_enum_value(t, "MANY", 77);
        btf__add_typedef(t, "inner_t", inner);
    });
    ModuleTypes types(kernel_bytes_, modules_, {});
    EXPECT_TRUE(types.find({{"struct", "first"}, {"struct", "second"}, {"", "MANY"}, {"", "inner_t"}}));
    const std::string out = declare(types, {"other"});
    EXPECT_NE(out.find("struct first {\n\tint p;\n\tint q;\n};"), std::string::npos) << out;
    EXPECT_NE(out.find("struct inner {\n\tint r;\n\tint s;\n};"), std::string::npos) << out;
    EXPECT_NE(out.find("struct second {\n\tstruct inner whole;\n\tstruct inner *other;\n};"), std::string::npos) << out;
    EXPECT_NE(out.find("MANY = 77"), std::string::npos) << out;
    EXPECT_NE(out.find("typedef struct inner inner_t;"), std::string::npos) << out;
}

// For a header that several modules include.
TEST_F(ModuleTypesTest, EqualStructuresAreOne) {
    add("one", [&](btf* t) { add_pair(t, "far", "a", "b"); });
    add("two", [&](btf* t) {
        const int to_far = btf__add_ptr(t, add_pair(t, "far", "a", "b"));
        btf__add_struct(t, "user", 8);
        btf__add_field(t, "its", to_far, 0, 0);
    });
    ModuleTypes types(kernel_bytes_, modules_, {});
    EXPECT_TRUE(types.find({{"struct", "far"}, {"struct", "user"}}));
    const std::string out = declare(types, {"its"});
    EXPECT_NE(out.find("struct far {\n\tint a;\n\tint b;\n};"), std::string::npos) << out;
    EXPECT_EQ(out.find("___"), std::string::npos) << out;
}

TEST_F(ModuleTypesTest, DifferentStructuresOfOneNameAreNone) {
    add("one", [&](btf* t) { add_pair(t, "far", "a", "b"); });
    add("two", [&](btf* t) { add_pair(t, "far", "b", "a"); });
    ModuleTypes types(kernel_bytes_, modules_, {});
    EXPECT_FALSE(types.find({{"struct", "far"}}));
    EXPECT_TRUE(types.chosen().empty());
    EXPECT_EQ(types.why_missing({"struct", "far"}),
              "the modules `one` and `two` have different types of this name; probe only one of these modules, or "
              "declare the type yourself under another name");
    EXPECT_EQ(declare(types, {"holder", "far"}),
              "struct far;\n\nstruct holder {\n\tstruct far *far;\n};\n\n" + compared);
}

TEST_F(ModuleTypesTest, ThatOfTheProbedModuleIsMeant) {
    add("one", [&](btf* t) { add_pair(t, "far", "a", "b"); });
    add("two", [&](btf* t) { add_pair(t, "far", "b", "a"); });
    ModuleTypes types(kernel_bytes_, modules_, {"", "two", "other"});
    EXPECT_TRUE(types.find({{"struct", "far"}}));
    const std::string out = declare(types, {"far"});
    EXPECT_NE(out.find("struct far {\n\tint b;\n\tint a;\n};"), std::string::npos) << out;
    EXPECT_EQ(out.find("___"), std::string::npos) << out;
    EXPECT_EQ(types.why_missing({"struct", "far"}), "");
}

TEST_F(ModuleTypesTest, WhatIsNowhere) {
    ModuleTypes alone(kernel_bytes_, modules_, {});
    EXPECT_FALSE(alone.find({{"struct", "holdr"}}));
    EXPECT_EQ(alone.why_missing({"struct", "holdr"}),
              "the kernel does not have `struct holdr`, and no module with types is loaded; did you mean `struct "
              "holder`? the types of a module are known only while the module is loaded");
    add("one", [&](btf* t) { add_pair(t, "distant", "a", "b"); });
    add("two", [&](btf* t) { add_pair(t, "near", "a", "b"); });
    bytes_["broken"] = "no types";
    ModuleTypes types(kernel_bytes_, modules_, {});
    EXPECT_FALSE(types.find({{"struct", "distnat"}, {"", "value"}}));
    EXPECT_EQ(types.why_missing({"struct", "distnat"}),
              "neither the kernel nor any of the 2 loaded modules has `struct distnat`; did you mean `struct "
              "distant`? the types of a module are known only while the module is loaded");
    EXPECT_EQ(types.why_missing({"", "value"}), "");
}

} // namespace

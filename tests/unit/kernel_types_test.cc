#include "frontend/types/kernel_types.h"

#include <bpf/btf.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "base/fd.h"

using namespace sonde;

namespace {

struct FreeBtf {
    void operator()(btf* types) const { btf__free(types); }
};
using Types = std::unique_ptr<btf, FreeBtf>;

std::string bytes_of(const btf* types) {
    uint32_t size = 0;
    const void* data = btf__raw_data(types, &size);
    return {static_cast<const char*>(data), size};
}

// struct item { int id; unsigned low : 3; unsigned high : 5; char name[16]; struct item* next; struct far* far;
//               union { long a; enum color color; }; }
// long take(struct item* item, const char* text, ...), and the tracepoints `taken` and `bare`, the latter without
// names.
Types kernels() {
    Types out(btf__new_empty());
    btf* t = out.get();
    int number = btf__add_int(t, "int", 4, BTF_INT_SIGNED);
    int natural = btf__add_int(t, "unsigned int", 4, 0);
    int wide = btf__add_int(t, "long", 8, BTF_INT_SIGNED);
    int letter = btf__add_int(t, "char", 1, BTF_INT_SIGNED);
    int truth = btf__add_int(t, "_Bool", 1, BTF_INT_BOOL);
    int name = btf__add_array(t, number, letter, 16);
    int color = btf__add_enum(t, "color", 4);
    btf__add_enum_value(t, "red", 1);
    btf__add_enum_value(t, "blue", -2);
    int mask = btf__add_enum(t, "mask", 4);
    btf__add_enum_value(t, "top", INT64_C(0x80000000));
    EXPECT_GT(mask, 0);
    int either = btf__add_union(t, nullptr, 8);
    btf__add_field(t, "a", wide, 0, 0);
    btf__add_field(t, "color", color, 0, 0);
    int far_away = btf__add_fwd(t, "far", BTF_FWD_STRUCT);
    int to_far = btf__add_ptr(t, far_away);
    int item = btf__add_struct(t, "item", 48);
    int to_item = item + 1;
    btf__add_field(t, "id", number, 0, 0);
    btf__add_field(t, "low", natural, 32, 3);
    btf__add_field(t, "high", natural, 35, 5);
    btf__add_field(t, "name", name, 64, 0);
    btf__add_field(t, "next", to_item, 192, 0);
    btf__add_field(t, "far", to_far, 256, 0);
    btf__add_field(t, nullptr, either, 320, 0);
    EXPECT_EQ(btf__add_ptr(t, item), to_item);
    int text = btf__add_ptr(t, btf__add_const(t, letter));
    int proto = btf__add_func_proto(t, wide);
    btf__add_func_param(t, "item", to_item);
    btf__add_func_param(t, "text", text);
    btf__add_func_param(t, nullptr, 0);
    btf__add_func(t, "take", BTF_FUNC_STATIC, proto);
    int data = btf__add_ptr(t, 0);
    int traced = btf__add_func_proto(t, number);
    btf__add_func_param(t, "__data", data);
    btf__add_func_param(t, "item", to_item);
    btf__add_func_param(t, "ok", truth);
    btf__add_func(t, "__traceiter_taken", BTF_FUNC_STATIC, traced);
    int bare = btf__add_func_proto(t, 0);
    btf__add_func_param(t, nullptr, data);
    btf__add_func_param(t, nullptr, wide);
    int to_bare = btf__add_ptr(t, bare);
    btf__add_typedef(t, "btf_trace_taken", to_bare);
    btf__add_typedef(t, "btf_trace_bare", to_bare);
    int counter = btf__add_var(t, "counter", BTF_VAR_GLOBAL_ALLOCATED, wide);
    int items = btf__add_var(t, "items", BTF_VAR_STATIC, to_item);
    int twice = btf__add_var(t, "twice", BTF_VAR_STATIC, wide), again = btf__add_var(t, "twice", BTF_VAR_STATIC, wide);
    btf__add_datasec(t, ".data..percpu", 64);
    btf__add_datasec_var_info(t, counter, 16, 8);
    btf__add_datasec_var_info(t, twice, 24, 8);
    btf__add_datasec_var_info(t, again, 32, 8);
    btf__add_datasec(t, ".data", 8);
    btf__add_datasec_var_info(t, items, 0, 8);
    return out;
}

// In a module: struct far { int x; }, int reach(struct far* far)
Types modules(btf* base) {
    Types out(btf__new_empty_split(base));
    btf* t = out.get();
    int number = btf__find_by_name_kind(base, "int", BTF_KIND_INT);
    int far_away = btf__add_struct(t, "far", 4);
    btf__add_field(t, "x", number, 0, 0);
    int pointer = btf__add_ptr(t, far_away);
    int proto = btf__add_func_proto(t, number);
    btf__add_func_param(t, "far", pointer);
    btf__add_func(t, "reach", BTF_FUNC_STATIC, proto);
    return out;
}

class KernelTypesOf : public testing::Test {
  protected:
    void SetUp() override {
        folder = (std::filesystem::temp_directory_path() / ("sonde-btf-" + std::to_string(getpid()))).string();
        std::filesystem::create_directory(folder);
        base = kernels();
        ASSERT_TRUE(write_file(folder + "/vmlinux", bytes_of(base.get())).ok());
        ASSERT_TRUE(write_file(folder + "/extra", bytes_of(modules(base.get()).get())).ok());
    }
    void TearDown() override { std::filesystem::remove_all(folder); }
    std::unique_ptr<KernelTypes> open() {
        Result<std::unique_ptr<KernelTypes>> types = KernelTypes::open(folder);
        EXPECT_TRUE(types.ok());
        return *std::move(types);
    }
    Types base;
    std::string folder;
};

} // namespace

TEST_F(KernelTypesOf, FingerprintsDependOnEveryByte) {
    // The file ends with the section of names; its size need not be a multiple of 8.
    std::string file = bytes_of(base.get());
    for (size_t changed = 0; changed < 9; changed++) {
        const uint64_t before = open()->fingerprint();
        const size_t at = file.size() - 2 - changed; // before the last NUL
        file[at] = file[at] == 'x' || file[at] == '\0' ? 'y' : 'x';
        ASSERT_TRUE(write_file(folder + "/vmlinux", file).ok());
        EXPECT_NE(open()->fingerprint(), before) << changed;
    }
}

TEST_F(KernelTypesOf, FunctionsHaveTheirPrototypes) {
    std::unique_ptr<KernelTypes> types = open();
    std::string kernel;
    std::vector<KernelFunction> found = types->functions("ta*", &kernel);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].name, "take");
    EXPECT_EQ(type_name(found[0].type), "long (struct item*, char const*, ...)");
    EXPECT_EQ(found[0].type->members[1].name, "text");
    EXPECT_TRUE(types->functions("no_such", &kernel).empty());
    found = types->functions("reach", nullptr);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].module, "extra");
    EXPECT_EQ(type_name(found[0].type), "int (struct far*)");
}

TEST_F(KernelTypesOf, VariablesOfEachCpuHaveTheirOffsets) {
    std::unique_ptr<KernelTypes> types = open();
    std::vector<KernelGlobal> found = types->globals("counter");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(type_name(found[0].type), "long");
    EXPECT_EQ(found[0].per_cpu, std::optional<uint64_t>(16));
    found = types->globals("items");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(type_name(found[0].type), "struct item*");
    EXPECT_FALSE(found[0].per_cpu);
    EXPECT_EQ(types->globals("twice").size(), 2u);
    EXPECT_TRUE(types->globals("none").empty());
}

// Like a kernel that is not running: the same types, without a folder.
TEST_F(KernelTypesOf, AnotherKernelsModulesAreLookedIntoWhenTheyAreNamed) {
    Result<KernelFiles> files = find_kernel_files(folder + "/vmlinux");
    ASSERT_TRUE(files.ok());
    EXPECT_EQ(files->release, "");
    Result<std::unique_ptr<KernelTypes>> types = KernelTypes::open(*files);
    ASSERT_TRUE(types.ok());
    EXPECT_EQ((*types)->fingerprint(), open()->fingerprint());
    EXPECT_EQ((*types)->modules(), std::vector<std::string>{"extra"});
    std::string module = "ext*";
    EXPECT_EQ((*types)->functions("reach", &module).size(), 1u);
    EXPECT_EQ((*types)->tracepoints("*").size(), 2u);
    EXPECT_TRUE((*types)->tracepoints("*", &module).empty());
}

TEST_F(KernelTypesOf, TracepointsHaveNamesWhereTheKernelKeepsThem) {
    std::unique_ptr<KernelTypes> types = open();
    std::vector<KernelFunction> found = types->tracepoints("*");
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].name, "bare");
    EXPECT_EQ(type_name(found[0].type), "void (void*, long)");
    EXPECT_EQ(found[1].name, "taken");
    EXPECT_EQ(found[1].type->members[1].name, "item");
    EXPECT_EQ(strip(found[1].type->members[2].type)->kind, Type::Boolean);
}

TEST_F(KernelTypesOf, RecordsAreFilledInWhenLookedAt) {
    std::unique_ptr<KernelTypes> types = open();
    const Type* item = types->find_type("struct item");
    ASSERT_TRUE(item);
    EXPECT_EQ(item->size, 48u);
    EXPECT_EQ(types->find_type("item"), item);
    EXPECT_EQ(type_name(types->find_type("struct item**")), "struct item**");
    EXPECT_FALSE(types->find_type("union item"));
    std::optional<TypeMember> high = find_member(item, "high");
    ASSERT_TRUE(high);
    EXPECT_EQ(high->byte_offset, 4u);
    EXPECT_EQ(high->bit_offset, 3u);
    EXPECT_EQ(high->bit_size, 5u);
    EXPECT_EQ(type_name(find_member(item, "name")->type), "char[16]");
    std::optional<TypeMember> color = find_member(item, "color");
    ASSERT_TRUE(color);
    EXPECT_EQ(color->byte_offset, 40u);
    EXPECT_EQ(color->type->enumerators[1].value, -2);
    EXPECT_EQ(types->enumerator("blue"), -2);
    EXPECT_EQ(types->enumerator("top"), 0x80000000);
    EXPECT_TRUE(color->type->is_signed);
    EXPECT_EQ(strip(find_member(item, "next")->type)->target, item);
}

TEST_F(KernelTypesOf, ADeclarationFindsItsDefinitionInAModule) {
    std::unique_ptr<KernelTypes> types = open();
    types->functions("reach", nullptr);
    const Type* far = strip(find_member(types->find_type("item"), "far")->type)->target;
    EXPECT_TRUE(find_member(far, "x"));
}

TEST_F(KernelTypesOf, DamagedFilesAreRefusedOrRead) {
    std::string whole = bytes_of(base.get());
    for (size_t at = 0; at < whole.size(); at++)
        for (char value : {'\x00', '\x7f', '\xff'}) {
            std::string damaged = whole;
            damaged[at] = value;
            ASSERT_TRUE(write_file(folder + "/vmlinux", damaged).ok());
            Result<std::unique_ptr<KernelTypes>> types = KernelTypes::open(folder);
            if (!types)
                continue;
            for (const KernelFunction& function : (*types)->functions("*", nullptr))
                type_name(function.type);
            (*types)->tracepoints("*");
            find_member((*types)->find_type("item"), "no_such_member");
        }
    std::filesystem::remove(folder + "/vmlinux");
    EXPECT_FALSE(KernelTypes::open(folder).ok());
}

TEST_F(KernelTypesOf, ModulesThatWereUsed) {
    std::unique_ptr<KernelTypes> types = open();
    EXPECT_TRUE(types->modules_used().empty());
    ASSERT_EQ(types->functions("reach", nullptr).size(), 1u);
    EXPECT_TRUE(types->modules_used().empty()); // no member was used
    const Type* far_away = types->find_type("struct far");
    ASSERT_NE(far_away, nullptr);
    EXPECT_EQ(complete(far_away)->members.size(), 1u);
    EXPECT_EQ(types->modules_used(), std::set<std::string>{"extra"});
    Result<uint64_t> before = types->module_fingerprint("extra");
    ASSERT_TRUE(before.ok());
    EXPECT_TRUE(types->check_module("extra", *before).ok());
    Result<void> absent = types->check_module("none", *before);
    ASSERT_FALSE(absent.ok());
    EXPECT_EQ(absent.error().message, "it reads structures of the kernel's module `none`, which is not loaded\n"
                                      "  load the module: `modprobe none`");
    ASSERT_TRUE(write_file(folder + "/extra", bytes_of(modules(base.get()).get()) + std::string(8, 0)).ok());
    Result<void> other = types->check_module("extra", *before);
    ASSERT_FALSE(other.ok());
    EXPECT_TRUE(
        other.error().message.starts_with("it was translated for another build of the kernel's module `extra`"));
}

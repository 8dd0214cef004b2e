#include "runtime/kernel/kernel_btf.h"

#include <bpf/btf.h>

#include <memory>

#include <gtest/gtest.h>

using namespace sonde;

namespace {

struct FreeBtf {
    void operator()(btf* types) const { btf__free(types); }
};
using Types = std::unique_ptr<btf, FreeBtf>;

std::string bytes_of(const Types& types) {
    uint32_t size = 0;
    const void* data = btf__raw_data(types.get(), &size);
    return {static_cast<const char*>(data), size};
}

// struct task { int id; struct cred* cred; }, struct cred { struct kuid { unsigned val; } uid; }, struct own { int x; }
Types handlers_types() {
    Types out(btf__new_empty());
    int number = btf__add_int(out.get(), "int", 4, BTF_INT_SIGNED);
    int kuid = btf__add_struct(out.get(), "kuid", 4);
    btf__add_field(out.get(), "val", number, 0, 0);
    int cred = btf__add_struct(out.get(), "cred", 4);
    btf__add_field(out.get(), "uid", kuid, 0, 0);
    int pointer = btf__add_ptr(out.get(), cred);
    btf__add_struct(out.get(), "task", 16);
    btf__add_field(out.get(), "id", number, 0, 0);
    btf__add_field(out.get(), "cred", pointer, 64, 0);
    btf__add_struct(out.get(), "own", 4);
    btf__add_field(out.get(), "x", number, 0, 0);
    return out;
}

// The same types with other offsets, with typedefs, and with `id` in an anonymous struct.
Types kernels_types(bool id_is_float = false) {
    Types out(btf__new_empty());
    int number = btf__add_int(out.get(), "int", 4, BTF_INT_SIGNED);
    int real = btf__add_float(out.get(), "float", 4);
    int pid_t = btf__add_typedef(out.get(), "pid_t", id_is_float ? real : number);
    int kuid = btf__add_struct(out.get(), nullptr, 4);
    btf__add_field(out.get(), "val", number, 0, 0);
    int kuid_t = btf__add_typedef(out.get(), "kuid_t", kuid);
    int cred = btf__add_struct(out.get(), "cred", 16);
    btf__add_field(out.get(), "usage", number, 0, 0);
    btf__add_field(out.get(), "uid", kuid_t, 96, 0);
    int pointer = btf__add_ptr(out.get(), btf__add_const(out.get(), cred));
    int inner = btf__add_struct(out.get(), nullptr, 16);
    btf__add_field(out.get(), "state", number, 0, 0);
    btf__add_field(out.get(), "id", pid_t, 32, 0);
    btf__add_struct(out.get(), "task", 32);
    btf__add_field(out.get(), "flags", number, 0, 0);
    btf__add_field(out.get(), nullptr, inner, 64, 0);
    btf__add_field(out.get(), "cred", pointer, 192, 0);
    return out;
}

// The offset of a struct's member in bits; -1 if it does not exist.
int place(const btf* types, const char* in, const std::string& member) {
    int id = btf__find_by_name_kind(types, in, BTF_KIND_STRUCT);
    if (id < 1)
        return -1;
    const btf_type* type = btf__type_by_id(types, static_cast<uint32_t>(id));
    for (uint32_t i = 0; i < btf_vlen(type); i++)
        if (member == btf__name_by_offset(types, btf_members(type)[i].name_off))
            return static_cast<int>(btf_member_bit_offset(type, i));
    return -1;
}

} // namespace

TEST(KernelTypes, MembersAreAtTheKernelsPlaces) {
    std::optional<std::string> bytes = needed_types(handlers_types().get(), bytes_of(kernels_types()));
    ASSERT_TRUE(bytes);
    Types out(btf__new(bytes->data(), static_cast<uint32_t>(bytes->size())));
    ASSERT_TRUE(out);
    EXPECT_EQ(place(out.get(), "task", "id"), 96);
    EXPECT_EQ(place(out.get(), "task", "cred"), 192);
    EXPECT_EQ(place(out.get(), "task", "flags"), -1);
    EXPECT_EQ(place(out.get(), "cred", "uid"), 96);
    EXPECT_EQ(place(out.get(), "own", "x"), -1);
}

TEST(KernelTypes, AnUnknownLayoutIsLeftToLibbpf) {
    EXPECT_FALSE(needed_types(handlers_types().get(), bytes_of(kernels_types(true))));
    Types without(btf__new_empty());
    btf__add_struct(without.get(), "task", 8);
    EXPECT_FALSE(needed_types(handlers_types().get(), bytes_of(without)));
}

TEST(KernelTypes, AFlavourIsTheKernelsStructWhereItHasTheMembers) {
    Types local = handlers_types();
    int pointer = btf__add_ptr(local.get(), 0);
    btf__add_struct(local.get(), "task___old", 8);
    btf__add_field(local.get(), "cred", pointer, 0, 0);
    btf__add_struct(local.get(), "cred___new", 8);
    btf__add_field(local.get(), "missing", pointer, 0, 0);
    std::optional<std::string> bytes = needed_types(local.get(), bytes_of(kernels_types()));
    ASSERT_TRUE(bytes);
    Types out(btf__new(bytes->data(), static_cast<uint32_t>(bytes->size())));
    ASSERT_TRUE(out);
    int tasks = 0;
    for (uint32_t id = 1; id < btf__type_cnt(out.get()); id++)
        tasks += btf__name_by_offset(out.get(), btf__type_by_id(out.get(), id)->name_off) == std::string("task");
    EXPECT_EQ(tasks, 2);
    EXPECT_EQ(place(out.get(), "cred", "uid"), 96);
    EXPECT_EQ(place(out.get(), "cred", "missing"), -1);
}

TEST(KernelTypes, DamagedFilesAreRefusedOrRead) {
    std::string whole = bytes_of(kernels_types());
    Types local = handlers_types();
    for (size_t size = 0; size < whole.size(); size++)
        EXPECT_FALSE(needed_types(local.get(), std::string_view(whole).substr(0, size)));
    for (size_t at = 0; at < whole.size(); at++)
        for (char value : {'\x00', '\x7f', '\xff'}) {
            std::string damaged = whole;
            damaged[at] = value;
            needed_types(local.get(), damaged);
        }
}

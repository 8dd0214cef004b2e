// Writes a small BTF file with only those kernel types that a BPF object reads.
//
// The object's own BTF has local versions of the kernel's structures, with only the members that the routines use:
//
//     local     struct task_struct { int pid; struct mm_struct *mm; }
//     kernel    struct task_struct { ...; pid at 1256; ...; mm at 1192; ... }
//     result    struct task_struct { pid at 1256; mm at 1192; }
//
// libbpf compares the local structure with the result as it would with the kernel's complete BTF, and gets the same
// offsets. Pointers become `void *`, so the structures that they point to are not copied with them. A member inside an
// anonymous structure moves to the outer one, at the same offset.
//
// What would break this: a member that the kernel has, but that is missing in the result. A routine would believe that
// the kernel lacks it. So if a structure cannot be copied, the whole attempt is given up, and libbpf reads the complete
// types. Variants that exist in some kernels only (`NAME___FLAVOR`) are exceptions.
#include "runtime/kernel/kernel_btf.h"

#include <bpf/btf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <memory>
#include <vector>

namespace sonde {
namespace {

constexpr int most_nested = 16;

struct FreeBtf {
    void operator()(btf* types) const { btf__free(types); }
};

struct Member {
    uint32_t type = 0, bit_offset = 0;
};

// Finds a member, also inside anonymous structs and unions. Returns nothing for bit fields.
std::optional<Member> find_member(const BtfFile& file, const btf_type* in, std::string_view wanted, int depth = 0) {
    if (depth == most_nested)
        return std::nullopt;
    const btf_member* members = btf_members(in);
    for (uint32_t i = 0; i < BTF_INFO_VLEN(in->info); i++) {
        uint32_t offset = btf_member_bit_offset(in, i);
        std::string_view name = file.name(members[i].name_off);
        if (name == wanted)
            return btf_member_bitfield_size(in, i) ? std::nullopt : std::optional<Member>({members[i].type, offset});
        const btf_type* type = name.empty() ? file.resolve(members[i].type) : nullptr;
        if (type && btf_is_composite(type))
            if (std::optional<Member> found = find_member(file, type, wanted, depth + 1))
                return Member{found->type, found->bit_offset + offset};
    }
    return std::nullopt;
}

// Copies structs from the kernel's types to a new BTF file. The local types decide which members are copied, and the
// kernel's types give their offsets and sizes. Functions return the number of the new type, or less than 1 on failure.
class Copier {
  public:
    Copier(const btf* local, const BtfFile& kernel, btf* out) : local_(local), kernel_(kernel), out_(out) {}

    // Copies those members of the kernel's struct `theirs` that the local struct `ours` names.
    int copy_struct(const btf_type* ours, const btf_type* theirs, const char* name, int depth = 0) {
        struct Field {
            const char* name;
            int type;
            uint32_t bit_offset;
        };
        std::vector<Field> fields;
        for (uint32_t i = 0; i < BTF_INFO_VLEN(ours->info); i++) {
            const btf_member& member = btf_members(ours)[i];
            const char* field = btf__name_by_offset(local_, member.name_off);
            std::optional<Member> found = find_member(kernel_, theirs, field);
            if (!found)
                return -1;
            int type = copy_field(member.type, kernel_.resolve(found->type), depth);
            if (type < 1)
                return -1;
            fields.push_back({field, type, found->bit_offset});
        }
        // libbpf adds fields to the struct that was added last. So all types of fields must exist before the struct.
        int id = btf__add_struct(out_, name, theirs->size);
        for (const Field& field : fields)
            if (id < 1 || btf__add_field(out_, field.name, field.type, field.bit_offset, 0) != 0)
                return -1;
        return id;
    }

  private:
    // Copies the type of one member. Pointers become `void*`, because handlers read only their value.
    int copy_field(uint32_t our_type, const btf_type* theirs, int depth) {
        if (!theirs || depth == most_nested)
            return -1;
        int resolved = btf__resolve_type(local_, our_type);
        const btf_type* ours = resolved > 0 ? btf__type_by_id(local_, static_cast<uint32_t>(resolved)) : nullptr;
        switch (BTF_INFO_KIND(theirs->info)) {
        case BTF_KIND_INT:
            return btf__add_int(out_, std::string(kernel_.name(theirs->name_off)).c_str(), theirs->size,
                                btf_int_encoding(theirs));
        case BTF_KIND_PTR:
            return btf__add_ptr(out_, 0);
        case BTF_KIND_ARRAY: {
            const struct btf_array* our_array = ours && btf_is_array(ours) ? btf_array(ours) : nullptr;
            const struct btf_array* their_array = btf_array(theirs);
            int element = our_array ? copy_field(our_array->type, kernel_.resolve(their_array->type), depth + 1) : -1;
            int index = element > 0 ? btf__add_int(out_, "unsigned int", sizeof(uint32_t), 0) : -1;
            return index > 0 ? btf__add_array(out_, index, element, their_array->nelems) : -1;
        }
        case BTF_KIND_STRUCT:
            return ours && BTF_INFO_KIND(ours->info) == BTF_KIND_STRUCT ? copy_struct(ours, theirs, nullptr, depth + 1)
                                                                        : -1;
        default:
            return -1;
        }
    }

    const btf* local_;
    const BtfFile& kernel_;
    btf* out_;
};

} // namespace

std::optional<uint32_t> member_offset(const BtfFile& types, std::string_view in, std::string_view member) {
    const btf_type* type = types.at(types.find(in, BTF_KIND_STRUCT));
    std::optional<Member> found = type ? find_member(types, type, member) : std::nullopt;
    return found ? std::optional(found->bit_offset / 8) : std::nullopt;
}

std::optional<std::string> needed_types(const btf* local, std::string_view kernel) {
    BtfFile file(kernel);
    std::unique_ptr<btf, FreeBtf> out(btf__new_empty());
    if (!file.complete() || !out)
        return std::nullopt;
    Copier copier(local, file, out.get());
    for (uint32_t id = 1; id < btf__type_cnt(local); id++) {
        const btf_type* ours = btf__type_by_id(local, id);
        const char* name = btf__name_by_offset(local, ours->name_off);
        if (BTF_INFO_KIND(ours->info) != BTF_KIND_STRUCT || !*name)
            continue;
        // `NAME___FLAVOR` is a variant of NAME that exists in some kernels only. If such a member is missing, the
        // handler checks for this (bpf_core_field_exists), so a failure is not an error.
        const std::string plain(std::string_view(name).substr(0, std::string_view(name).find("___")));
        // Skip structs that the kernel does not have: they belong to the handler. If a struct of the kernel cannot be
        // copied, libbpf must read all types.
        if (const btf_type* theirs = file.at(file.find(plain, BTF_KIND_STRUCT)))
            if (copier.copy_struct(ours, theirs, plain.c_str()) < 1 && plain == name)
                return std::nullopt;
    }
    uint32_t size = 0;
    const void* data = btf__raw_data(out.get(), &size);
    if (!data)
        return std::nullopt;
    return std::string(static_cast<const char*>(data), size);
}

std::optional<Fd> needed_kernel_types(const btf* local) {
    // Handlers reach all structures of the kernel from a task, so an object without task_struct needs no kernel types.
    if (!local || btf__find_by_name_kind(local, "task_struct", BTF_KIND_STRUCT) < 1)
        return std::nullopt;
    Result<Fd> file = open_file("/sys/kernel/btf/vmlinux", O_RDONLY);
    struct stat info;
    if (!file || fstat(file->get(), &info) != 0 || info.st_size <= 0)
        return std::nullopt;
    // Linux 6.16 can map this file, which is faster than reading it.
    auto size = static_cast<size_t>(info.st_size);
    std::optional<std::string> types;
    if (void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->get(), 0); memory != MAP_FAILED) {
        types = needed_types(local, {static_cast<const char*>(memory), size});
        munmap(memory, size);
    } else if (Result<std::string> bytes = read_all(file->get(), "the kernel's types"); bytes.ok()) {
        types = needed_types(local, *bytes);
    }
    if (!types)
        return std::nullopt;
    Fd out(memfd_create("kernel-types", MFD_CLOEXEC));
    if (!out || !write_all(out.get(), *types, "the kernel's types"))
        return std::nullopt;
    return out;
}

} // namespace sonde

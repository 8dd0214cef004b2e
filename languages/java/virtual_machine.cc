#include "languages/java/virtual_machine.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "languages/interpreter_file.h"

namespace sonde {
namespace {

constexpr size_t most_entries = 1 << 14;

// The tables, as they are in the memory of a process before the library's initializers run.
class Tables {
  public:
    explicit Tables(const ElfFile& elf) : elf_(elf), file_(elf) {
        const std::string_view relocations = elf.section_data(".rela.dyn");
        for (size_t at = 0; at + sizeof(Elf64_Rela) <= relocations.size(); at += sizeof(Elf64_Rela)) {
            Elf64_Rela one;
            std::memcpy(&one, relocations.data() + at, sizeof one);
            if (ELF64_R_SYM(one.r_info) == 0) // a place in the library
                pointers_.emplace(one.r_offset, static_cast<uint64_t>(one.r_addend));
        }
    }
    uint64_t pointer(uint64_t address) const {
        const auto found = pointers_.find(address);
        return found == pointers_.end() ? 0 : found->second;
    }
    template <typename T> T value(uint64_t address) const {
        T out{};
        const std::string bytes = file_.data(address, sizeof out);
        if (bytes.size() == sizeof out)
            std::memcpy(&out, bytes.data(), sizeof out);
        return out;
    }
    std::string text(uint64_t address) const {
        constexpr size_t longest = 128;
        const std::string bytes = address ? file_.data(address, longest) : "";
        return bytes.substr(0, bytes.find('\0'));
    }

    // Reads the members of all types, as `Type::member`.
    void read_members(uint64_t table) {
        enum { ENTRY = 48, MEMBER = 8, IS_STATIC = 24, OFFSET = 32, ADDRESS = 40 };
        size_t count = 0;
        while (count < most_entries && pointer(table + count * ENTRY))
            count++;
        std::unordered_map<uint64_t, uint64_t> stored;
        const ElfSection* code = elf_.find_section(".text");
        const std::string_view bytes = elf_.section_data(".text");
        constexpr std::string_view store("\x48\xc7\x05", 3); // movq $imm32, disp32(%rip)
        constexpr size_t length = 11;
        for (size_t at = bytes.find(store); at != std::string_view::npos && at + length <= bytes.size();
             at = bytes.find(store, at + 1)) {
            int32_t distance = 0, number = 0;
            std::memcpy(&distance, bytes.data() + at + 3, sizeof distance);
            std::memcpy(&number, bytes.data() + at + 7, sizeof number);
            const uint64_t to = code->address + at + length + static_cast<uint64_t>(int64_t{distance});
            if (to >= table && to < table + count * ENTRY && (to - table) % ENTRY == OFFSET && number >= 0)
                stored.emplace(to, static_cast<uint64_t>(number));
        }
        for (size_t n = 0; n < count; n++) {
            const uint64_t entry = table + n * ENTRY, offset = entry + OFFSET;
            const std::string name = text(pointer(entry)) + "::" + text(pointer(entry + MEMBER));
            const bool is_static = value<int32_t>(entry + IS_STATIC) != 0;
            const auto instruction = stored.find(offset);
            const uint64_t number = is_static                     ? pointer(entry + ADDRESS)
                                    : instruction != stored.end() ? instruction->second
                                                                  : value<uint64_t>(offset);
            // A number of 0 in the data can be one that other instructions store.
            if (number || (!is_static && instruction != stored.end()))
                members_[name] = number;
        }
    }
    void read_sizes(uint64_t table) {
        enum { ENTRY = 40, SIZE = 32 };
        for (size_t n = 0; n < most_entries && pointer(table + n * ENTRY); n++)
            sizes_[text(pointer(table + n * ENTRY))] = value<uint64_t>(table + n * ENTRY + SIZE);
    }
    void read_constants(uint64_t table) {
        enum { ENTRY = 16, NUMBER = 8 };
        for (size_t n = 0; n < most_entries && pointer(table + n * ENTRY); n++)
            constants_[text(pointer(table + n * ENTRY))] = value<uint32_t>(table + n * ENTRY + NUMBER);
    }

    uint64_t version() const {
        const auto found = members_.find("Abstract_VM_Version::_vm_major_version");
        return found == members_.end() ? 0 : value<uint32_t>(found->second);
    }
    // These note the first name that is missing.
    uint64_t member(const std::string& name) { return find(members_, name); }
    unsigned offset(const std::string& name) { return static_cast<unsigned>(member(name)); }
    unsigned size(const std::string& name) { return static_cast<unsigned>(find(sizes_, name)); }
    unsigned constant(const std::string& name) { return find(constants_, name); }
    const std::string& missing() const { return missing_; }

  private:
    template <typename Map> typename Map::mapped_type find(const Map& in, const std::string& name) {
        const auto found = in.find(name);
        if (found != in.end())
            return found->second;
        if (missing_.empty())
            missing_ = name;
        return {};
    }

    const ElfFile& elf_;
    InterpreterFile file_;
    std::unordered_map<uint64_t, uint64_t> pointers_;
    std::map<std::string, uint64_t> members_, sizes_;
    std::map<std::string, uint32_t> constants_;
    std::string missing_;
};

sonde_java layout_of(Tables& t, unsigned version) {
    const bool is_new = version > 17;
    return {.heaps = t.member("CodeCache::_heaps"),
            .interpreter = t.member("AbstractInterpreter::_code"),
            .call_stub_return = t.member("StubRoutines::_call_stub_return_address"),
            .return_barrier = 0,
            .nmethod = 0,
            .vtable_stub = 0,
            .version = version,
            .first_byte = is_new,
            .array_length = t.offset("GrowableArrayBase::_len"),
            .array_data = t.offset("GrowableArray<int>::_data"),
            .heap_memory = t.offset("CodeHeap::_memory"),
            .heap_segments = t.offset("CodeHeap::_segmap"),
            .heap_segment_bits = t.offset("CodeHeap::_log2_segment_size"),
            .space_low = t.offset("VirtualSpace::_low"),
            .space_high = t.offset("VirtualSpace::_high"),
            .queue_begin = t.offset("StubQueue::_stub_buffer"),
            .queue_size = t.offset("StubQueue::_buffer_limit"),
            .block_bytes = t.size("HeapBlock"),
            .block_used = t.offset("HeapBlock::Header::_used"),
            .blob_name = t.offset("CodeBlob::_name"),
            .blob_complete = t.offset("CodeBlob::_frame_complete_offset"),
            .blob_frame = t.offset("CodeBlob::_frame_size"),
            .blob_begin = t.offset("CodeBlob::_code_begin"),
            .blob_end = t.offset("CodeBlob::_code_end"),
            .compiled_method = t.offset("CompiledMethod::_method"),
            .compiled_scopes = t.offset("CompiledMethod::_scopes_data_begin"),
            .compiled_deoptimized = t.offset("CompiledMethod::_deopt_handler_begin"),
            .compiled_deoptimized_mh = t.offset("CompiledMethod::_deopt_mh_handler_begin"),
            .nmethod_original_pc = t.offset("nmethod::_orig_pc_offset"),
            .nmethod_pcs = t.offset("nmethod::_scopes_pcs_offset"),
            .nmethod_pcs_end = t.offset("nmethod::_dependencies_offset"),
            .nmethod_metadata = t.offset("nmethod::_metadata_offset"),
            .nmethod_bci = t.offset("nmethod::_entry_bci"),
            .nmethod_entry = t.offset("nmethod::_verified_entry_point"),
            .nmethod_loop_entry = t.offset("nmethod::_osr_entry_point"),
            .pc_bytes = t.size("PcDesc"),
            .pc_offset = t.offset("PcDesc::_pc_offset"),
            .pc_scope = t.offset("PcDesc::_scope_decode_offset"),
            .method_code = t.offset("Method::_constMethod"),
            .code_pool = t.offset("ConstMethod::_constants"),
            .code_flags = t.offset(is_new ? "ConstMethod::_flags._flags" : "ConstMethod::_flags"),
            .code_size = t.offset("ConstMethod::_code_size"),
            .code_name = t.offset("ConstMethod::_name_index"),
            .code_stack = t.offset("ConstMethod::_max_stack"),
            .code_bytes = t.size("ConstMethod"),
            .code_has_lines = t.constant(is_new ? "ConstMethodFlags::_misc_has_linenumber_table"
                                                : "ConstMethod::_has_linenumber_table"),
            .pool_class = t.offset("ConstantPool::_pool_holder"),
            .pool_file = t.offset("ConstantPool::_source_file_name_index"),
            .pool_length = t.offset("ConstantPool::_length"),
            .pool_bytes = t.size("ConstantPool"),
            .class_pool = t.offset("InstanceKlass::_constants"),
            .class_name = t.offset("Klass::_name"),
            .text_length = t.offset("Symbol::_length"),
            .text = t.offset("Symbol::_body")};
}

// Handlers find the mapping of the types in a process, so they compute addresses from offsets in the file. The numbers
// are those that variables without data in the file would have. Returns false if the addresses are not in one segment.
bool use_file_offsets(sonde_java& java, const ElfFile& elf) {
    for (const ElfSegment& segment : elf.segments()) {
        const auto is_inside = [&](uint64_t address) { return address - segment.address < segment.memory_size; };
        if (!is_inside(java.nmethod))
            continue;
        for (auto* address : {&java.heaps, &java.interpreter, &java.call_stub_return, &java.return_barrier,
                              &java.nmethod, &java.vtable_stub}) {
            if (*address && !is_inside(*address))
                return false;
            *address -= *address ? segment.address - segment.offset : 0;
        }
        return true;
    }
    return false;
}

// Returns the name of a type with a member that handlers do not read, or null.
const char* too_far(const sonde_java& java) {
    const auto most = [](std::initializer_list<unsigned> offsets) { return std::max(offsets); };
    if (most({java.blob_name, java.blob_complete, java.blob_frame, java.blob_begin, java.blob_end, java.compiled_method,
              java.compiled_scopes, java.compiled_deoptimized, java.compiled_deoptimized_mh, java.nmethod_original_pc,
              java.nmethod_pcs, java.nmethod_pcs_end, java.nmethod_metadata, java.nmethod_bci, java.nmethod_entry,
              java.nmethod_loop_entry}) > SONDE_JAVA_BLOB_BYTES - 8)
        return "nmethod";
    if (most({java.code_pool, java.code_flags, java.code_size, java.code_name, java.code_stack}) >
        SONDE_JAVA_CODE_BYTES - 8)
        return "ConstMethod";
    if (most({java.pool_class, java.pool_file, java.pool_length}) > SONDE_JAVA_POOL_BYTES - 8)
        return "ConstantPool";
    return java.pc_bytes == 0 || java.block_bytes == 0 ? "PcDesc" : nullptr;
}

} // namespace

Result<std::optional<sonde_java>> read_java(const ElfFile& elf) {
    InterpreterFile::Symbol members, sizes, constants, nmethod, vtable_stub, return_barrier;
    InterpreterFile(elf).find({{"gHotSpotVMStructs", &members},
                               {"gHotSpotVMTypes", &sizes},
                               {"gHotSpotVMIntConstants", &constants},
                               {"_ZTV7nmethod", &nmethod},
                               {"_ZTV10VtableBlob", &vtable_stub},
                               {"_ZN12StubRoutines19_cont_returnBarrierE", &return_barrier}});
    const Architecture* architecture = architecture_of(elf.machine(), elf.is_32_bit());
    if (!members.address || !sizes.address || !constants.address || !architecture)
        return std::optional<sonde_java>();
    if (architecture->unwind_traits().has_link_register || elf.is_32_bit())
        return Error(fmt::format("sonde does not support HotSpot on {}", elf.machine_name()));
    Tables tables(elf);
    tables.read_members(tables.pointer(members.address));
    tables.read_sizes(tables.pointer(sizes.address));
    tables.read_constants(tables.pointer(constants.address));
    const uint64_t version = tables.version();
    if (version != 17 && version != 21)
        return Error(version ? fmt::format("it is Java {}; sonde supports 17 and 21", version)
                             : "it does not describe its version of Java");
    if (!nmethod.address || !vtable_stub.address || (version > 17 && !return_barrier.address))
        return Error("it has no symbol table, which sonde needs for the types of generated code");
    // The words below the frame pointer of an interpreted method.
    for (const auto& [name, wanted] : {std::pair("frame::interpreter_frame_sender_sp_offset", -1),
                                       std::pair("frame::interpreter_frame_last_sp_offset", -2)})
        if (const int number = static_cast<int>(tables.constant(name)); number != wanted && tables.missing().empty())
            return Error(fmt::format("its `{}` is {}; sonde expects {}", name, number, wanted));
    sonde_java out = layout_of(tables, static_cast<unsigned>(version));
    if (!tables.missing().empty())
        return Error(fmt::format("it does not describe `{}`", tables.missing()));
    // The object begins with the address of the type's first function, behind two words.
    constexpr uint64_t before_functions = 16;
    out.nmethod = nmethod.address + before_functions;
    out.vtable_stub = vtable_stub.address + before_functions;
    out.return_barrier = return_barrier.address;
    if (!use_file_offsets(out, elf))
        return Error("the variables that sonde reads are in different segments");
    if (const char* name = too_far(out))
        return Error(fmt::format("the offset of `{}` is larger than sonde expects", name));
    return std::optional(out);
}

} // namespace sonde

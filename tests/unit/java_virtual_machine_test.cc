// Facts about HotSpot: of Debian's OpenJDK, if it is installed, and of a small library that describes itself like
// HotSpot.
#include "languages/java/virtual_machine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "base/fd.h"

namespace sonde {
namespace {

TEST(JavaVirtualMachine, Installed) {
    size_t found = 0;
    for (const unsigned version : {17u, 21u}) {
        const std::string path = fmt::format("/usr/lib/jvm/java-{}-openjdk-amd64/lib/server/libjvm.so", version);
        if (!std::filesystem::exists(path))
            continue;
        found++;
        Result<ElfFile> file = ElfFile::open_any_machine(path);
        ASSERT_TRUE(file) << file.error().message;
        Result<std::optional<sonde_java>> java = read_java(*file);
        ASSERT_TRUE(java) << java.error().message;
        ASSERT_TRUE(*java);
        const sonde_java& layout = **java;
        EXPECT_EQ(layout.version, version);
        EXPECT_NE(layout.heaps, 0u);
        EXPECT_NE(layout.interpreter, 0u);
        EXPECT_NE(layout.nmethod, 0u);
        EXPECT_EQ(layout.return_barrier != 0, version == 21);
        EXPECT_EQ(layout.first_byte, version == 21 ? 1u : 0u);
        // Offsets that the library's initializer stores, and sizes that are in its data.
        EXPECT_EQ(layout.method_code, 8u);
        EXPECT_EQ(layout.code_name, version == 21 ? 36u : 34u);
        EXPECT_EQ(layout.code_bytes, version == 21 ? 56u : 48u);
        EXPECT_EQ(layout.pool_bytes, 72u);
        EXPECT_EQ(layout.blob_frame, version == 21 ? 88u : 28u);
    }
    if (!found)
        GTEST_SKIP() << "there is no OpenJDK 17 or 21 of Debian for x86-64";
}

TEST(JavaVirtualMachine, OtherPrograms) {
    for (const char* path : {"/bin/sh", "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"}) {
        if (!std::filesystem::exists(path))
            continue;
        Result<ElfFile> file = ElfFile::open_any_machine(path);
        ASSERT_TRUE(file);
        Result<std::optional<sonde_java>> java = read_java(*file);
        ASSERT_TRUE(java);
        EXPECT_FALSE(*java) << path;
    }
}

#ifdef __x86_64__
// Members whose offset is in the data, and is not 0. Those of PcDesc and GrowableArrayBase are added by the tests.
constexpr const char* members[] = {"GrowableArray<int>,_data",
                                   "CodeHeap,_memory",
                                   "CodeHeap,_segmap",
                                   "CodeHeap,_log2_segment_size",
                                   "VirtualSpace,_low",
                                   "VirtualSpace,_high",
                                   "StubQueue,_stub_buffer",
                                   "StubQueue,_buffer_limit",
                                   "HeapBlock::Header,_used",
                                   "CodeBlob,_name",
                                   "CodeBlob,_frame_complete_offset",
                                   "CodeBlob,_frame_size",
                                   "CodeBlob,_code_begin",
                                   "CodeBlob,_code_end",
                                   "CompiledMethod,_method",
                                   "CompiledMethod,_scopes_data_begin",
                                   "CompiledMethod,_deopt_handler_begin",
                                   "CompiledMethod,_deopt_mh_handler_begin",
                                   "nmethod,_orig_pc_offset",
                                   "nmethod,_scopes_pcs_offset",
                                   "nmethod,_dependencies_offset",
                                   "nmethod,_metadata_offset",
                                   "nmethod,_entry_bci",
                                   "nmethod,_verified_entry_point",
                                   "nmethod,_osr_entry_point",
                                   "PcDesc,_scope_decode_offset",
                                   "Method,_constMethod",
                                   "ConstMethod,_constants",
                                   "ConstMethod,_flags",
                                   "ConstMethod,_code_size",
                                   "ConstMethod,_name_index",
                                   "ConstMethod,_max_stack",
                                   "ConstantPool,_pool_holder",
                                   "ConstantPool,_source_file_name_index",
                                   "ConstantPool,_length",
                                   "InstanceKlass,_constants",
                                   "Klass,_name",
                                   "Symbol,_length",
                                   "Symbol,_body"};
constexpr const char* library = R"(
#include <stdint.h>
typedef struct { const char *type, *member, *kind; int32_t is_static; uint64_t offset; const void* address; } Member;
typedef struct { const char *type, *super; int32_t a, b, c; uint64_t size; } Type;
typedef struct { const char* name; int32_t value; } Constant;
static int version = 17;
static void* variable[3] = {&version};
static Member members[] = {@
    {"CodeCache", "_heaps", "", 1, 0, &variable[0]}, {"AbstractInterpreter", "_code", "", 1, 0, &variable[1]},
    {"StubRoutines", "_call_stub_return_address", "", 1, 0, &variable[2]},
    {"Abstract_VM_Version", "_vm_major_version", "int", 1, 0, &version}, {0}};
static Type types[] = {{"HeapBlock", 0, 0, 0, 0, 16}, {"PcDesc", 0, 0, 0, 0, 16}, {"ConstMethod", 0, 0, 0, 0, 48},
                       {"ConstantPool", 0, 0, 0, 0, 72}, {0}};
static Constant constants[] = {{"frame::interpreter_frame_sender_sp_offset", -1}, {"frame::interpreter_frame_last_sp_offset", -2},
                               {"ConstMethod::_has_linenumber_table", 1}, {0}};
Member* gHotSpotVMStructs = members;
Type* gHotSpotVMTypes = types;
Constant* gHotSpotVMIntConstants = constants;
long nmethod[4] __asm__("_ZTV7nmethod") = {1}, stub[4] __asm__("_ZTV10VtableBlob") = {1};
#ifdef STORES
__attribute__((constructor)) void store(void) { members[0].offset = 0; members[1].offset = 4; }
#endif
)";

struct JavaLibrary : testing::Test {
    std::string folder = (std::filesystem::temp_directory_path() / "sonde-test-XXXXXX").string();

    JavaLibrary() { EXPECT_NE(mkdtemp(folder.data()), nullptr); }
    ~JavaLibrary() override { std::filesystem::remove_all(folder); }
    std::string write(const std::string& name, const std::string& bytes) const {
        EXPECT_TRUE(write_file(folder + "/" + name, bytes));
        return folder + "/" + name;
    }
    std::string compile(const std::string& options) {
        std::string rows =
            R"({"PcDesc", "_pc_offset", "int", 0, 0, 0}, {"GrowableArrayBase", "_len", "int", 0, 0, 0},)";
        unsigned offset = 0;
        for (const std::string member : members) {
            const size_t comma = member.find(',');
            rows += fmt::format(R"({{"{}", "{}", "", 0, {}, 0}},)", member.substr(0, comma), member.substr(comma + 1),
                                offset = offset % 40 + 8);
        }
        std::string text = library;
        text.replace(text.find('@'), 1, rows);
        const std::string source = write("p.c", text), out = folder + "/p.so";
        const std::string command = SONDE_COMPILER " -O2 -shared -fPIC " + options + " -o " + out + " " + source;
        EXPECT_EQ(std::system(command.c_str()), 0);
        return out;
    }
};

TEST_F(JavaLibrary, StoredOffsets) {
    Result<ElfFile> file = ElfFile::open_any_machine(compile("-DSTORES"));
    ASSERT_TRUE(file);
    Result<std::optional<sonde_java>> java = read_java(*file);
    ASSERT_TRUE(java) << java.error().message;
    ASSERT_TRUE(*java);
    EXPECT_EQ((*java)->pc_offset, 0u);    // stored
    EXPECT_EQ((*java)->array_length, 4u); // stored
    EXPECT_EQ((*java)->array_data, 8u);   // in the data
    EXPECT_EQ((*java)->heap_memory, 16u);
    EXPECT_EQ((*java)->interpreter, (*java)->heaps + 8);
}

// An offset of 0 that nothing stores is unknown.
TEST_F(JavaLibrary, UnknownOffsets) {
    Result<ElfFile> file = ElfFile::open_any_machine(compile(""));
    ASSERT_TRUE(file);
    Result<std::optional<sonde_java>> java = read_java(*file);
    ASSERT_FALSE(java);
    EXPECT_EQ(java.error().message, "it does not describe `GrowableArrayBase::_len`");
}

TEST_F(JavaLibrary, DamagedFilesAreSurvived) {
    const std::string original = *read_file(compile("-DSTORES"));
    uint64_t random = 88172645463325252u;
    const auto next = [&random] {
        random ^= random << 13;
        random ^= random >> 7;
        return random ^= random << 17;
    };
    size_t readable = 0;
    for (int round = 0; round < 500; round++) {
        std::string copy = original;
        for (int i = 0; i < 8; i++)
            copy[next() % copy.size()] = static_cast<char>(next());
        Result<ElfFile> file = ElfFile::open_any_machine(write("damaged", copy));
        if (!file)
            continue;
        const Result<std::optional<sonde_java>> java = read_java(*file);
        readable += java && *java;
    }
    EXPECT_GT(readable, 0u);
}
#endif

} // namespace
} // namespace sonde

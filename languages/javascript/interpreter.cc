#include "languages/javascript/interpreter.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "languages/interpreter_file.h"

namespace sonde {
namespace {

struct Version {
    unsigned major, minor;
    unsigned code_positions;     // the offset of BytecodeArray's table of positions
    std::string_view bytes_type; // the type of this table
    unsigned scope_module;       // see sonde_javascript
};
// Node.js 18, 20 and 22
constexpr Version versions[] = {
    {10, 2, 32, "type_ByteArray__", 0}, {11, 3, 32, "type_ByteArray__", 0}, {12, 4, 24, "type_TrustedByteArray__", 8}};

// Constants that are the same in all versions so far. Handlers rely on their values.
struct Fixed {
    std::string_view name;
    int32_t value;
};
constexpr Fixed fixed[] = {{"TaggedSize", 8},
                           {"SmiTagMask", 1},
                           {"SmiValueShift", 1},
                           {"SmiShiftSize", 31},
                           {"HeapObjectTag", 1},
                           {"FirstNonstringType", 128},
                           {"StringRepresentationMask", 7},
                           {"StringEncodingMask", 8},
                           {"OneByteStringTag", 8},
                           {"ConsStringTag", 1},
                           {"ExternalStringTag", 2},
                           {"SlicedStringTag", 3},
                           {"ThinStringTag", 5},
                           {"class_String__length__", 12},
                           {"class_SeqOneByteString__chars__", 16},
                           {"class_SeqTwoByteString__chars__", 16},
                           {"class_ConsString__first__", 16},
                           {"class_ConsString__second__", 24},
                           {"class_SlicedString__parent__", 16},
                           {"class_SlicedString__offset__", 24},
                           {"class_ThinString__actual__", 16},
                           {"class_ExternalString__resource__", 16},
                           {"class_FixedArrayBase__length__", 8},
                           {"off_fp_context", -8},
                           {"off_fp_function", -16},
                           {"off_fp_bytecode_array", -32},
                           {"off_fp_bytecode_offset", -40},
                           {"scopeinfo_idx_nparams", 1},
                           {"scopeinfo_idx_ncontextlocals", 2},
                           {"scopeinfo_idx_first_vars", 3}};

class Reader {
  public:
    explicit Reader(const ElfFile& elf) : file_(elf) {
        elf.for_each_symbol([&](const ElfSymbol& symbol) {
            constexpr std::string_view prefix = "v8dbg_";
            if (symbol.section != SHN_UNDEF && symbol.name.starts_with(prefix))
                constants_.emplace(symbol.name.substr(prefix.size()), symbol.address);
            return true;
        });
        file_.find({{"_ZN2v88internal7Version6major_E", &major_},
                    {"_ZN2v88internal7Version6minor_E", &minor_},
                    {"_ZN2v88internal23DefaultEmbeddedBlobCodeEv", &begin_},
                    {"_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv", &size_}});
    }

    Result<std::optional<JavascriptInterpreter>> read() {
        if (!major_.address || file_.elf().is_32_bit() || !file_.architecture())
            return std::optional<JavascriptInterpreter>();
        if (file_.architecture()->unwind_traits().has_link_register)
            return Error(fmt::format("sonde does not support V8 on {}", file_.elf().machine_name()));
        const unsigned major = number(major_.address), minor = number(minor_.address);
        const auto* const version = std::ranges::find_if(
            versions, [&](const Version& one) { return one.major == major && one.minor == minor; });
        if (version == std::end(versions))
            return Error(fmt::format("it is V8 {}.{}; sonde supports 10.2, 11.3 and 12.4 (Node.js 18, 20 and 22)",
                                     major, minor));
        if (constants_.empty())
            return Error("it does not export V8's constants for debuggers (`v8dbg_...`)");
        for (const Fixed& one : fixed)
            if (const std::optional<int32_t> value = constant(one.name); value != one.value)
                return Error(fmt::format("its V8 has another layout of objects (`v8dbg_{}` is {} instead of {})",
                                         one.name, value ? std::to_string(*value) : "missing", one.value));
        JavascriptInterpreter out;
        sonde_javascript& to = out.layout;
        to.version = major * 100 + minor;
        to.code_positions = version->code_positions;
        to.scope_module = version->scope_module;
        const std::pair<std::string_view, unsigned*> wanted[] = {
            {"class_Map__instance_type__", &to.map_type},
            {"type_JSFunction__JS_FUNCTION_TYPE", &to.function_first},
            {"type_SharedFunctionInfo__", &to.shared_type},
            {"type_ScopeInfo__", &to.scope_type},
            {"type_Script__", &to.script_type},
            {"type_BytecodeArray__", &to.code_type},
            {version->bytes_type, &to.bytes_type},
            {"FirstContextType", &to.context_first},
            {"LastContextType", &to.context_last},
            {"class_JSFunction__shared__", &to.function_shared},
            {"class_SharedFunctionInfo__name_or_scope_info__", &to.shared_name},
            {"class_SharedFunctionInfo__script_", &to.shared_script},
            {"class_Script__source__", &to.script_source},
            {"class_Script__name__", &to.script_name},
            {"class_BytecodeArray__data__", &to.code_first}};
        for (const auto& [name, member] : wanted) {
            const std::optional<int32_t> value = constant(name);
            if (!value || *value <= 0)
                return Error(fmt::format("its V8 does not export the constant `v8dbg_{}`", name));
            *member = static_cast<unsigned>(*value);
        }
        // The types of functions that V8 itself defines, such as classes, follow. Each has one more check in handlers.
        constexpr unsigned function_types = 16;
        to.function_last = to.function_first + function_types;
        const uint64_t begin = returned(begin_), size = returned(size_) & 0xffffffff;
        const ElfSegment* code = file_.code_at(begin);
        if (!code || !size || begin + size > code->address + code->file_size)
            return Error("sonde does not find V8's built-in functions");
        out.built_in = {begin, begin + size};
        to.code_begin = begin - code->address + code->offset;
        to.code_end = to.code_begin + size;
        if (const ElfSection* text = file_.elf().find_section(".text"))
            out.code = {text->address, text->address + text->size};
        return std::optional(out);
    }

  private:
    uint32_t number(uint64_t address) const {
        uint32_t out = 0;
        const std::string bytes = file_.data(address, sizeof out);
        std::memcpy(&out, bytes.data(), std::min(bytes.size(), sizeof out));
        return out;
    }
    uint64_t word(uint64_t address) const { return number(address) | uint64_t{number(address + 4)} << 32; }

    // A constant by its name, or by the beginning of it: the type at its end differs between versions.
    std::optional<int32_t> constant(std::string_view name) const {
        const auto found = constants_.lower_bound(name);
        const bool is_prefix = name.ends_with('_');
        if (found == constants_.end() || (is_prefix ? !found->first.starts_with(name) : found->first != name))
            return std::nullopt;
        return static_cast<int32_t>(number(found->second)); // 0 if it is in .bss
    }

    // Executes a function that returns a constant: an address, or a word in memory.
    uint64_t returned(InterpreterFile::Symbol function) const {
        const std::string code = file_.data(function.address, 16);
        uint64_t value = 0;
        for (size_t at = 0; at < code.size();) {
            const std::string_view rest = std::string_view(code).substr(at);
            const auto operand = [&](size_t place) {
                int32_t out = 0;
                if (rest.size() >= place + sizeof out)
                    std::memcpy(&out, rest.data() + place, sizeof out);
                return static_cast<uint64_t>(int64_t{out});
            };
            if (rest.starts_with("\xc3")) // ret
                return value;
            if (rest.starts_with("\xb8")) { // mov $VALUE, %eax
                value = operand(1) & 0xffffffff;
                at += 5;
            } else if (rest.starts_with("\x48\x8d\x05")) { // lea PLACE(%rip), %rax
                value = function.address + at + 7 + operand(3);
                at += 7;
            } else if (rest.starts_with("\x48\x8b\x05")) { // mov PLACE(%rip), %rax
                value = word(function.address + at + 7 + operand(3));
                at += 7;
            } else if (rest.starts_with("\x8b\x05")) { // mov PLACE(%rip), %eax
                value = number(function.address + at + 6 + operand(2));
                at += 6;
            } else if (rest.starts_with(std::string_view("\x48\x8b\x00", 3))) { // mov (%rax), %rax
                value = word(value);
                at += 3;
            } else if (rest.starts_with(std::string_view("\x8b\x00", 2))) { // mov (%rax), %eax
                value = number(value);
                at += 2;
            } else if (rest.starts_with("\xf3\x0f\x1e\xfa")) { // endbr64
                at += 4;
            } else {
                return 0;
            }
        }
        return 0;
    }

    const InterpreterFile file_;
    InterpreterFile::Symbol major_, minor_, begin_, size_;
    std::map<std::string, uint64_t, std::less<>> constants_; // their addresses
};

} // namespace

Result<std::optional<JavascriptInterpreter>> read_javascript(const ElfFile& file) { return Reader(file).read(); }

} // namespace sonde

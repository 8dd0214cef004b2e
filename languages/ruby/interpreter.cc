#include "languages/ruby/interpreter.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "base/byte_cursor.h"
#include "languages/interpreter_file.h"

namespace sonde {
namespace {

// What differs between versions. Ruby's headers have it; tests/ruby_tests checks it.
struct Version {
    unsigned number, last_operator, frame_size, body_lines, text_bytes;
    bool names_classes;
};
constexpr Version versions[] = {
    {301, 169, 64, 120, 16, false},
    {303, 169, 56, 112, 24, false},
    {304, 170, 56, 112, 24, true},
};

sonde_ruby layout_of(const Version& version) {
    sonde_ruby out{};
    out.version = version.number;
    out.last_operator = version.last_operator;
    out.symbols_ids = 16;
    out.context_stack = 0;
    out.context_stack_size = 8;
    out.context_frame = 16;
    out.frame_size = version.frame_size;
    out.frame_pc = 0;
    out.frame_code = 16;
    out.frame_environment = 32;
    out.code_body = 16;
    out.body_size = 4;
    out.body_instructions = 8;
    out.body_path = 64;
    out.body_base_label = 72;
    out.body_label = 80;
    out.body_lines = version.body_lines;
    out.body_lines_size = version.body_lines + 16;
    out.body_lines_index = version.body_lines + 24;
    out.body_parent = 160;
    out.body_local = 168;
    out.line_size = 12;
    out.method_definition = 16;
    out.method_owner = 32;
    out.definition_name = 32;
    out.text_bytes = version.text_bytes;
    out.names_classes = version.names_classes;
    out.class_attached = 128;
    out.class_is_named = 149;
    out.class_name = 152;
    return out;
}

constexpr size_t least_dispatches = 64; // of the core: each instruction ends with an indirect jump to the next one

class Reader {
  public:
    explicit Reader(const ElfFile& file) : file_(file) {}

    Result<std::optional<RubyInterpreter>> read() {
        // Only an interpreter defines rb_cThread.
        Symbol thread;
        file_.find({{"ruby_api_version", &version_},
                    {"ruby_version", &version_text_},
                    {"rb_cThread", &thread},
                    {"rb_errinfo", &error_},
                    {"rb_vm_exec", &loop_},
                    {"rb_iseq_eval", &evaluate_},
                    {"rb_id2str", &name_}});
        if (!version_.address || !thread.address || file_.elf().is_32_bit() || !file_.architecture())
            return std::optional<RubyInterpreter>();
        if (Result<void> known = find_version(); !known)
            return std::move(known).error();
        if (!find_loop())
            return unsupported("does not find the function that executes instructions");
        if (!find_thread_slot())
            return unsupported("finds no thread-local `ruby_current_ec` of a library that uses glibc");
        if (!find_names())
            return unsupported("does not find the table of symbols");
        return std::optional(std::move(out_));
    }

  private:
    using Symbol = InterpreterFile::Symbol;

    Error unsupported(std::string_view reason) const {
        return Error(fmt::format("it is Ruby {}, but sonde {}", out_.version, reason));
    }

    Result<void> find_version() {
        std::array<uint32_t, 3> api{};
        const std::string bytes = file_.data(version_.address, sizeof api);
        if (bytes.size() == sizeof api)
            std::memcpy(api.data(), bytes.data(), sizeof api);
        if (api[0] == 0 || api[0] > 99 || api[1] > 99)
            return Error("it does not say which version of Ruby it is");
        const std::string text = file_.data(version_text_.address, std::min<uint64_t>(version_text_.size, 16));
        out_.version = text.empty() ? fmt::format("{}.{}", api[0], api[1]) : text.substr(0, text.find('\0'));
        const auto* const known = std::ranges::find(versions, api[0] * 100 + api[1], &Version::number);
        if (known == std::end(versions))
            return Error(fmt::format("it is Ruby {}; sonde supports 3.1, 3.3 and 3.4", out_.version));
        out_.layout = layout_of(*known);
        return {};
    }

    // rb_errinfo() passes the variable's two words to a function of glibc, which returns the variable's address, and
    // loads the variable. A relocation has the loader write the first word.
    bool find_thread_slot() {
        // The tables of thread-local blocks are those of glibc.
        if (file_.elf().section_data(".dynstr").find(std::string_view("\0libc.so.6\0", 11)) == std::string_view::npos)
            return false;
        uint64_t slot = 0;
        bool is_called = false, is_loaded = false;
        file_.follow(error_, [&](const Instruction& one, uint64_t next) {
            if (one.operation == Operation::Address && one.memory.is_fixed)
                slot = one.memory.address(next);
            if (is_called) {
                is_loaded = one.operation == Operation::Load && one.memory.exists && one.memory.displacement == 0;
                return false;
            }
            is_called = one.is_call();
            return true;
        });
        const auto is_its = [&](const Elf64_Rela& entry) {
            return entry.r_offset == slot &&
                   file_.architecture()->dynamic_relocation(static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info))) ==
                       DynamicRelocation::ThreadModule;
        };
        if (!is_loaded || std::ranges::none_of(values_in<Elf64_Rela>(file_.elf().section_data(".rela.dyn")), is_its))
            return false;
        out_.layout.thread_slot = slot - to_distance_;
        out_.layout.thread_table = file_.architecture()->thread_storage().table;
        return true;
    }

    // rb_vm_exec() calls the core. It is exported up to 3.1. Later, rb_iseq_eval() calls it or jumps to it.
    bool find_loop() {
        const std::vector<uint64_t> loops = loop_.address ? std::vector{loop_.address} : called_by(evaluate_);
        for (const InterpreterFile::Range& function : file_.functions_with(loops)) {
            const Symbol symbol{.address = function.first, .size = function.second - function.first};
            for (const InterpreterFile::Range& core : file_.functions_with(called_by(symbol))) {
                if (!is_core(core))
                    continue;
                if (out_.loop_entry)
                    return false;
                out_.loop_entry = function.first;
                out_.loop = {core, function};
            }
        }
        const ElfSegment* code = file_.code_at(out_.loop_entry);
        if (!out_.loop_entry || !code)
            return false;
        to_distance_ = code->address - code->offset;
        out_.layout.core_begin = out_.loop.front().first - to_distance_;
        out_.layout.core_end = out_.loop.front().second - to_distance_;
        std::ranges::sort(out_.loop);
        return true;
    }

    // Without functions of other libraries: the procedure linkage table is another section.
    std::vector<uint64_t> called_by(Symbol function) const {
        std::vector<uint64_t> out;
        const ElfSection* code = file_.elf().find_section(".text");
        file_.follow(function, [&](const Instruction& one, uint64_t next) {
            if (code && (one.flow == Flow::Call || one.flow == Flow::Jump) &&
                one.target(next) - code->address < code->size && one.target(next) - function.address >= function.size)
                out.push_back(one.target(next));
            return true;
        });
        return out;
    }

    bool is_core(const InterpreterFile::Range& function) const {
        size_t dispatches = 0;
        file_.follow({function.first, function.second - function.first}, [&](const Instruction& one, uint64_t) {
            dispatches += one.is_indirect_jump();
            return dispatches < least_dispatches;
        });
        return dispatches >= least_dispatches;
    }

    // The table begins with the number of symbols, which is the last one that is built in until the program starts.
    bool find_names() {
        std::set<uint64_t> places;
        uint64_t tail = 0;
        const auto collect = [&](const Instruction& one, uint64_t next) {
            if (one.memory.exists && one.memory.is_fixed)
                places.insert(one.memory.address(next));
            if (one.flow == Flow::Jump)
                tail = one.target(next);
            return true;
        };
        file_.follow(name_, collect);
        if (tail - name_.address >= name_.size)
            file_.follow({tail, tail_size}, collect);
        for (const uint64_t place : places) {
            const std::string bytes = file_.data(place, out_.layout.symbols_ids + sizeof(uint64_t));
            uint32_t last = 0;
            if (!places.contains(place + out_.layout.symbols_ids) || bytes.size() < out_.layout.symbols_ids)
                continue;
            std::memcpy(&last, bytes.data(), sizeof last);
            if (last < out_.layout.last_operator || last > most_built_in ||
                bytes.find_first_not_of('\0', sizeof last) != std::string::npos)
                continue;
            out_.layout.symbols = place - to_distance_;
            return true;
        }
        return false;
    }

    static constexpr size_t tail_size = 160; // bytes of the function that finds a symbol
    static constexpr uint32_t most_built_in = 4096;

    const InterpreterFile file_;
    RubyInterpreter out_;
    Symbol version_, version_text_, error_, loop_, evaluate_, name_;
    uint64_t to_distance_ = 0;
};

} // namespace

Result<std::optional<RubyInterpreter>> read_ruby(const ElfFile& file) { return Reader(file).read(); }

} // namespace sonde

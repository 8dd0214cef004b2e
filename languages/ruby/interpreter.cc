#include "languages/ruby/interpreter.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "base/byte_cursor.h"
#include "languages/interpreter_file.h"

namespace sonde {
namespace {

// The layout of 3.1. The headers have it; tests/unit/ruby_interpreter_test.cc and tests/ruby_tests check it.
sonde_ruby layout_3_1() {
    sonde_ruby out{};
    out.version = 301;
    out.last_operator = 169;
    out.symbols_ids = 16;
    out.context_stack = 0;
    out.context_stack_size = 8;
    out.context_frame = 16;
    out.frame_size = 64;
    out.frame_pc = 0;
    out.frame_code = 16;
    out.frame_environment = 32;
    out.code_body = 16;
    out.body_size = 4;
    out.body_instructions = 8;
    out.body_path = 64;
    out.body_label = 80;
    out.body_lines = 120;
    out.body_lines_size = 136;
    out.body_lines_index = 144;
    out.line_size = 12;
    out.method_definition = 16;
    out.definition_name = 32;
    return out;
}

constexpr uint64_t smallest_core = 4096; // bytes of code

class Reader {
  public:
    explicit Reader(const ElfFile& file) : file_(file) {}

    Result<std::optional<RubyInterpreter>> read() {
        // Only an interpreter defines rb_cThread.
        Symbol thread;
        file_.find({{"ruby_api_version", &version_},
                    {"ruby_version", &version_text_},
                    {"rb_cThread", &thread},
                    {"rb_vm_exec", &loop_},
                    {"rb_id2str", &name_}});
        if (!version_.address || !thread.address || file_.elf().is_32_bit() || !file_.architecture())
            return std::optional<RubyInterpreter>();
        if (Result<void> known = find_version(); !known)
            return std::move(known).error();
        out_.layout = layout_3_1();
        if (!find_thread_slot())
            return unsupported("finds no thread-local `ruby_current_ec` of a library that uses glibc");
        if (!find_loop())
            return unsupported("does not find the function that executes instructions");
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
        if (api[0] != 3 || api[1] != 1)
            return Error(fmt::format("it is Ruby {}; sonde supports 3.1", out_.version));
        return {};
    }

    // The loader writes the module's index into a word, for which there is a relocation with the variable as its
    // symbol.
    bool find_thread_slot() {
        // The tables of thread-local blocks are those of glibc.
        if (file_.elf().section_data(".dynstr").find(std::string_view("\0libc.so.6\0", 11)) == std::string_view::npos)
            return false;
        const std::vector<Elf64_Sym> symbols = values_in<Elf64_Sym>(file_.elf().section_data(".dynsym"));
        const std::string_view names = file_.elf().section_data(".dynstr");
        for (const Elf64_Rela& entry : values_in<Elf64_Rela>(file_.elf().section_data(".rela.dyn"))) {
            const uint64_t index = ELF64_R_SYM(entry.r_info);
            const auto type = static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info));
            if (file_.architecture()->dynamic_relocation(type) != DynamicRelocation::ThreadModule ||
                index >= symbols.size())
                continue;
            const Elf64_Sym& symbol = symbols[index];
            if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size() ||
                !names.substr(symbol.st_name).starts_with(std::string_view("ruby_current_ec\0", 16)))
                continue;
            out_.layout.thread_slot = entry.r_offset; // a distance when the code's segment is known (find_loop())
            out_.layout.thread_offset = static_cast<unsigned>(symbol.st_value);
            out_.layout.thread_table = file_.architecture()->thread_storage().table;
            return true;
        }
        return false;
    }

    bool find_loop() {
        const ElfSegment* code = file_.code_at(loop_.address);
        if (!loop_.address || !loop_.size || !code)
            return false;
        std::vector<uint64_t> called;
        file_.follow(loop_, [&](const Instruction& one, uint64_t next) {
            if (one.flow == Flow::Call)
                called.push_back(one.target(next));
            return true;
        });
        InterpreterFile::Range core;
        for (const InterpreterFile::Range& function : file_.functions_with(called))
            if (function.second - function.first > core.second - core.first)
                core = function;
        if (core.second - core.first < smallest_core || !file_.code_at(core.first))
            return false;
        out_.loop = {core, {loop_.address, loop_.address + loop_.size}};
        std::ranges::sort(out_.loop);
        out_.loop_entry = loop_.address;
        to_distance_ = code->address - code->offset;
        out_.layout.core_begin = core.first - to_distance_;
        out_.layout.core_end = core.second - to_distance_;
        out_.layout.thread_slot -= to_distance_;
        return true;
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
    Symbol version_, version_text_, loop_, name_;
    uint64_t to_distance_ = 0;
};

} // namespace

Result<std::optional<RubyInterpreter>> read_ruby(const ElfFile& file) { return Reader(file).read(); }

} // namespace sonde

#include "languages/python/interpreter.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "base/byte_cursor.h"
#include "languages/interpreter_file.h"
#include "languages/python/layouts.h"

namespace sonde {
namespace {

constexpr size_t opcodes = 256;

class Reader {
  public:
    explicit Reader(const ElfFile& file) : file_(file) {}

    Result<std::optional<PythonInterpreter>> read() {
        find_symbols();
        if (!loop_.address || file_.elf().is_32_bit())
            return std::optional<PythonInterpreter>();
        if (!runtime_.address)
            return Error(fmt::format("`{}` is older than Python 3.7; sonde supports 3.{} to 3.{}", file_.elf().path(),
                                     first_python, last_python));
        if (Result<void> known = find_version(); !known)
            return std::move(known).error().in(fmt::format("cannot read Python's data in `{}`", file_.elf().path()));
        const ElfSegment* code = file_.code_at(loop_.address);
        if (!code)
            return std::optional<PythonInterpreter>();
        const auto distance = [&](uint64_t address) { return address ? address - (code->address - code->offset) : 0; };
        out_.layout.runtime = distance(runtime_.address);
        out_.layout.code_type = distance(code_type_);
        out_.layout.unicode_type = distance(unicode_type_);
        out_.loop_entry = loop_.address;
        out_.loop = {{loop_.address, loop_.address + loop_.size}};
        find_handlers();
        // Without it, each instruction is a function of its own (--with-tail-call-interp). The loop's place in the
        // machine's stack is then another one, too.
        if (out_.layout.version >= 14 && out_.handlers.empty())
            return Error(fmt::format("`{}` is Python {} with a loop of a form that sonde does not know",
                                     file_.elf().path(), out_.version));
        add_moved_parts();
        std::ranges::sort(out_.loop);
        return std::optional(std::move(out_));
    }

  private:
    using Symbol = InterpreterFile::Symbol;

    void find_symbols() {
        Symbol code_type, unicode_type, note_exception;
        file_.find({{"_PyEval_EvalFrameDefault", &loop_},
                    {"_PyRuntime", &runtime_},
                    {"Py_Version", &version_},
                    {"PyCode_Type", &code_type},
                    {"PyUnicode_Type", &unicode_type},
                    {"PyTraceBack_Here", &note_exception}});
        code_type_ = code_type.address;
        unicode_type_ = unicode_type.address;
        out_.note_exception = note_exception.address;
        file_.elf().for_each_symbol([&](const ElfSymbol& symbol) {
            if (symbol.section != SHN_UNDEF && symbol.name.starts_with("_PyEval_EvalFrameDefault.") && symbol.size)
                parts_.emplace_back(symbol.address, symbol.address + symbol.size);
            return true;
        });
    }

    Result<void> find_version() {
        unsigned minor = 0;
        if (version_.address) {
            const std::string bytes = file_.data(version_.address, 4);
            uint32_t number = 0; // 0x030b02f0 for 3.11.2
            if (bytes.size() == sizeof number)
                std::memcpy(&number, bytes.data(), sizeof number);
            if (number >> 24 != 3)
                return Error("it does not say which version of Python it is");
            minor = number >> 16 & 0xff;
            out_.version = fmt::format("3.{}.{}", minor, number >> 8 & 0xff);
        } else {
            const std::optional<unsigned> found = version_by_tag();
            if (!found)
                return Error("it does not say which version of Python it is");
            minor = *found;
            out_.version = fmt::format("3.{}", minor);
        }
        if (minor < first_python || minor > last_python)
            return Error(
                fmt::format("it is Python {}; sonde supports 3.{} to 3.{}", out_.version, first_python, last_python));
        out_.layout = python_layout(minor);
        if (minor >= 13)
            if (std::string_view why = read_debug_offsets(file_.data(runtime_.address, 1024), out_.layout);
                !why.empty())
                return Error(fmt::format("it is Python {}, but {}", out_.version, why));
        return {};
    }

    // Before 3.11 only texts show the version: the name for files with compiled code, such as `cpython-38`.
    std::optional<unsigned> version_by_tag() const {
        constexpr char before[] = "\0cpython-3";
        const std::string_view text = file_.elf().section_data(".rodata");
        const std::string_view tag(before, sizeof before - 1);
        std::optional<unsigned> out;
        for (size_t at = text.find(tag); at != std::string_view::npos; at = text.find(tag, at + 1)) {
            unsigned minor = 0;
            size_t end = at + tag.size();
            for (; end < text.size() && text[end] >= '0' && text[end] <= '9' && minor < 100; end++)
                minor = 10 * minor + static_cast<unsigned>(text[end] - '0');
            if (end == text.size() || text[end] != '\0' || end == at + tag.size())
                continue;
            if (out && *out != minor)
                return std::nullopt;
            out = minor;
        }
        return out;
    }

    // Finds the table by which the loop jumps to the handler of an instruction: as many addresses of code as there are
    // opcodes, most of them in the loop. Handlers of opcodes that the compiler considers unlikely are elsewhere: in a
    // part that it has moved. In Debian's Python 3.14, these are all handlers.
    void find_handlers() {
        if (out_.layout.version < 11)
            return;
        relocate();
        std::vector<std::vector<uint64_t>> found;
        for (const ElfSection& section : file_.elf().sections()) {
            if (section.type != SHT_PROGBITS || !(section.flags & SHF_ALLOC) || (section.flags & SHF_EXECINSTR))
                continue;
            std::vector<uint64_t> run;
            const auto end_run = [&] {
                if (run.size() == opcodes && is_table(run))
                    found.push_back(run);
                run.clear();
            };
            const std::string_view bytes = file_.elf().section_data(section.name);
            for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
                uint64_t value = 0;
                std::memcpy(&value, bytes.data() + at, sizeof value);
                if (auto moved = relocated_.find(section.address + at); moved != relocated_.end())
                    value = moved->second;
                if (!is_code(value)) {
                    end_run();
                    continue;
                }
                run.push_back(value);
            }
            end_run();
        }
        if (found.size() == 1)
            out_.handlers = std::move(found[0]);
    }

    bool is_table(const std::vector<uint64_t>& run) {
        const auto count = [&](auto is_inside) {
            return static_cast<size_t>(std::ranges::count_if(run, is_inside)) >= opcodes / 2;
        };
        if (count([&](uint64_t at) { return is_in_loop(at); }))
            return true;
        return std::ranges::any_of(moved_parts(), [&](const InterpreterFile::Range& part) {
            return count([&](uint64_t at) { return at >= part.first && at < part.second; });
        });
    }

    // The parts outside of the loop's function to which it jumps. It jumps to each of them without a call, so they are
    // not functions that it uses.
    const std::vector<InterpreterFile::Range>& moved_parts() {
        if (!moved_) {
            std::vector<uint64_t> targets;
            file_.follow(loop_, [&](const Instruction& one, uint64_t next) {
                const bool is_jump = one.flow == Flow::Jump || one.flow == Flow::ConditionalJump;
                if (is_jump && !is_in_loop(one.target(next)))
                    targets.push_back(one.target(next));
                return true;
            });
            moved_ = file_.functions_with(targets);
        }
        return *moved_;
    }

    // In a library, the loader writes the addresses. A relocation without a symbol has the address as its addend.
    void relocate() {
        for (const Elf64_Rela& entry : values_in<Elf64_Rela>(file_.elf().section_data(".rela.dyn")))
            if (ELF64_R_SYM(entry.r_info) == 0 && is_code(static_cast<uint64_t>(entry.r_addend)))
                relocated_[entry.r_offset] = static_cast<uint64_t>(entry.r_addend);
    }

    // Handlers outside of the loop are in parts that the compiler has moved. Each part has an entry in the tables for
    // unwinding.
    void add_moved_parts() {
        const auto is_known = [&](uint64_t address) {
            return std::ranges::any_of(
                out_.loop, [&](const auto& part) { return address >= part.first && address < part.second; });
        };
        for (const auto& part : parts_)
            if (!is_known(part.first))
                out_.loop.push_back(part);
        std::vector<uint64_t> outside;
        std::ranges::copy_if(out_.handlers, std::back_inserter(outside), [&](uint64_t at) { return !is_known(at); });
        for (const InterpreterFile::Range& part : file_.functions_with(outside))
            out_.loop.push_back(part);
    }

    bool is_in_loop(uint64_t address) const { return address - loop_.address < loop_.size; }
    bool is_code(uint64_t address) const { return file_.code_at(address) != nullptr; }

    const InterpreterFile file_;
    PythonInterpreter out_;
    Symbol loop_, runtime_, version_;
    uint64_t code_type_ = 0, unicode_type_ = 0;
    std::vector<std::pair<uint64_t, uint64_t>> parts_; // by symbols
    std::map<uint64_t, uint64_t> relocated_;           // the loader's values of words
    std::optional<std::vector<InterpreterFile::Range>> moved_;
};

} // namespace

Result<std::optional<PythonInterpreter>> read_python(const ElfFile& file) { return Reader(file).read(); }

} // namespace sonde

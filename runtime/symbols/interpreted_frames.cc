#include "runtime/symbols/interpreted_frames.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/terminal_text.h"
#include "languages/python/interpreter.h"
#include "runtime/plan/file_table.h"
#include "runtime/plan/interpreted_stack.h"
#include "runtime/plan/object_names.h"
#include "runtime/plan/stack.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

// Only these kinds have room for the mark. Others do not occur in compiled code such as the loop's.
bool has_mark(uint32_t rule) {
    const uint32_t kind = SONDE_RULE_KIND(rule);
    return kind == SONDE_RULE_SP || kind == SONDE_RULE_FP || kind == SONDE_RULE_LINK || kind == SONDE_RULE_ALONE;
}

// Adds a row at the address, with the rule that is valid there.
void split_at(std::vector<UnwindRow>& rows, uint64_t address) {
    const auto next = std::upper_bound(rows.begin(), rows.end(), address,
                                       [](uint64_t wanted, const UnwindRow& row) { return wanted < row.address; });
    if (next == rows.begin() || std::prev(next)->address == address)
        return;
    UnwindRow row = *std::prev(next);
    row.address = address;
    rows.insert(next, row);
}

std::string one_line(const char* text, size_t size) {
    std::string out = terminal_text(std::string_view(text, strnlen(text, size)));
    std::replace_if(out.begin(), out.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return out;
}

} // namespace

void mark_loop(UnwindRules& rules, const std::vector<std::pair<uint64_t, uint64_t>>& ranges) {
    for (const auto& [begin, end] : ranges) {
        split_at(rules.rows, begin);
        split_at(rules.rows, end);
        for (UnwindRow& row : rules.rows)
            if (row.address >= begin && row.address < end && has_mark(row.rule))
                row.rule |= SONDE_RULE_INTERPRETER;
    }
}

std::string InterpretedFrame::place(bool with_folder) const {
    const std::string name = with_folder ? file : file.substr(file.rfind('/') + 1);
    return line && !file.empty() ? fmt::format("{}:{}", name, line) : name;
}

void InterpretedFrames::begin(const KernelObject& kernel, uint32_t first) {
    interpreters_ = kernel.map_fd(plan::maps::python);
    names_ = kernel.map_fd(plan::maps::frame_names);
    count_ = first;
}

InterpretedFrames::Interpreter InterpretedFrames::add(const ElfFile& file, const std::string& path,
                                                      UnwindRules& rules) {
    if (interpreters_ < 0)
        return {};
    const Result<std::optional<PythonInterpreter>> found = read_python(file);
    if (!found)
        warn(fmt::format("stacks do not show the Python functions of {}: {}", path, found.error().message));
    if (!found || !*found)
        return {};
    const PythonInterpreter& python = **found;
    if (count_ >= SONDE_PYTHON_MOST) {
        if (!std::exchange(told_, true))
            warn(fmt::format(
                "stacks do not show the Python functions of {}: sonde supports {} interpreters in a session", path,
                int{SONDE_PYTHON_MOST}));
        return {};
    }
    sonde_python layout = python.layout;
    layout.loop = file.file_offset(python.loop_entry).value_or(0);
    if (bpf_map_update_elem(interpreters_, &count_, &layout, BPF_ANY) != 0)
        return {};
    mark_loop(rules, python.loop);
    return {++count_, static_cast<uint32_t>(python.loop_entry)};
}

std::optional<InterpretedFrame> InterpretedFrames::describe(uint64_t word) {
    if (!sonde_is_interpreted_frame(word))
        return std::nullopt;
    const uint32_t number = sonde_interpreted_name_of(word);
    if (number == SONDE_PYTHON_UNREADABLE)
        return InterpretedFrame{SONDE_PYTHON_UNREADABLE_TEXT, "", 0};
    if (number == SONDE_PYTHON_UNNAMED)
        return InterpretedFrame{SONDE_PYTHON_UNNAMED_TEXT, "", sonde_interpreted_line_of(word)};
    auto known = known_.find(number);
    sonde_interpreted_name name{};
    if (known == known_.end() && bpf_map_lookup_elem(names_, &number, &name) == 0)
        known = known_
                    .emplace(number, std::pair(one_line(name.function, sizeof name.function),
                                               one_line(name.file, sizeof name.file)))
                    .first;
    if (known == known_.end())
        return InterpretedFrame{SONDE_PYTHON_UNNAMED_TEXT, "", sonde_interpreted_line_of(word)};
    return InterpretedFrame{known->second.first, known->second.second, sonde_interpreted_line_of(word)};
}

std::optional<std::string> InterpretedFrames::text(uint64_t word, uint64_t style) {
    const std::optional<InterpretedFrame> frame = describe(word);
    if (!frame)
        return std::nullopt;
    const std::string hex = fmt::format("{:#x}", word);
    switch (style & SONDE_SYMBOL_STYLE) {
    case SONDE_SYMBOL_NAME:
        return frame->function;
    case SONDE_SYMBOL_BRIEF:
        return frame->file.empty() ? frame->function : fmt::format("{} {}", frame->function, frame->place(false));
    case SONDE_SYMBOL_DATA:
    case SONDE_SYMBOL_OFFSET:
        return frame->file.empty() ? frame->function : fmt::format("{} [{}]", frame->function, frame->place(true));
    case SONDE_SYMBOL_MODULE:
        return frame->file.substr(frame->file.rfind('/') + 1);
    case SONDE_SYMBOL_PATH:
        return frame->file;
    case SONDE_SYMBOL_LINE:
        return frame->line ? std::to_string(frame->line) : hex;
    case SONDE_SYMBOL_FILE:
        return frame->file.empty() ? hex : frame->file;
    case SONDE_SYMBOL_FILELINE:
        return frame->file.empty() ? hex : frame->place(true);
    default:
        return "";
    }
}

} // namespace sonde

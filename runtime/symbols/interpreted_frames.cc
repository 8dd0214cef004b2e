#include "runtime/symbols/interpreted_frames.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/terminal_text.h"
#include "languages/stack_facts.h"
#include "runtime/plan/file_table.h"
#include "runtime/plan/interpreted_stack.h"
#include "runtime/plan/object_names.h"
#include "runtime/plan/stack.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

struct LanguageRuntime {
    const char *id, *map;
    std::string_view language;
    ReadStackFacts* read;
};
constexpr LanguageRuntime runtimes[] = {
#define LANGUAGE_RUNTIME(id, name, language) {#name, plan::maps::name, language, name##_stack_facts},
#include "runtime/plan/language_runtimes.def"
#undef LANGUAGE_RUNTIME
};
static_assert(std::size(runtimes) == SONDE_LANGUAGES);

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

void use_frame_pointers(UnwindRules& rules, const std::pair<uint64_t, uint64_t>& range) {
    const auto [begin, end] = range;
    if (begin == end)
        return;
    split_at(rules.rows, end);
    std::erase_if(rules.rows, [&](const UnwindRow& row) { return row.address >= begin && row.address < end; });
    // Where the functions save other registers is unknown.
    constexpr uint32_t saves = SONDE_SAVED_BEYOND | (SONDE_SAVED_BEYOND - 1);
    const auto next = std::ranges::lower_bound(rules.rows, end, {}, &UnwindRow::address);
    rules.rows.insert(next, UnwindRow{begin, SONDE_RULE(SONDE_RULE_FP, 2, 2), saves});
}

std::string InterpretedFrame::place(bool with_folder) const {
    const std::string name = with_folder ? file : file.substr(file.rfind('/') + 1);
    return line && !file.empty() ? fmt::format("{}:{}", name, line) : name;
}

const char* language_id(sonde_language language) { return runtimes[language].id; }

void InterpretedFrames::begin(const KernelObject& kernel, uint32_t pythons) {
    for (size_t i = 0; i < SONDE_LANGUAGES; i++)
        interpreters_[i].map = kernel.map_fd(runtimes[i].map);
    interpreters_[SONDE_LANGUAGE_PYTHON].count = pythons;
    names_ = kernel.map_fd(plan::maps::frame_names);
}

InterpretedFrames::Interpreter InterpretedFrames::add(const ElfFile& file, const std::string& path,
                                                      UnwindRules& rules) {
    for (uint32_t language = 0; language < SONDE_LANGUAGES; language++) {
        Interpreters& known = interpreters_[language];
        const auto complain = [&](std::string_view reason) {
            warn(fmt::format("stacks do not show the {} functions of {}: {}", runtimes[language].language, path,
                             reason));
        };
        if (known.map < 0)
            continue;
        const Result<std::optional<StackFacts>> found = runtimes[language].read(file);
        if (!found)
            complain(found.error().message);
        if (!found || !*found)
            continue;
        const StackFacts& facts = **found;
        if (known.count >= SONDE_INTERPRETERS_MOST) {
            if (!std::exchange(known.told, true))
                complain(fmt::format("sonde supports {} interpreters in a session", int{SONDE_INTERPRETERS_MOST}));
            return {};
        }
        if (bpf_map_update_elem(known.map, &known.count, facts.facts.data(), BPF_ANY) != 0)
            return {};
        use_frame_pointers(rules, facts.frame_pointers);
        mark_loop(rules, facts.loop);
        return {SONDE_TABLE_INTERPRETER(language, known.count++), static_cast<uint32_t>(facts.loop_entry)};
    }
    return {};
}

std::optional<InterpretedFrame> InterpretedFrames::describe(uint64_t word) {
    if (!sonde_is_interpreted_frame(word))
        return std::nullopt;
    const uint32_t number = sonde_interpreted_name_of(word), line = sonde_interpreted_line_of(word);
    if (number < SONDE_INTERPRETED_FIRST_NAME) {
        const auto language = static_cast<sonde_language>(number / SONDE_INTERPRETED_KINDS);
        const bool is_unreadable = number % SONDE_INTERPRETED_KINDS == SONDE_INTERPRETED_UNREADABLE;
        return InterpretedFrame{
            language,
            fmt::format("[{} {} function]", is_unreadable ? "unreadable" : "unnamed", runtimes[language].language), "",
            is_unreadable ? 0 : line};
    }
    auto known = known_.find(number);
    sonde_interpreted_name name{};
    if (known == known_.end() && bpf_map_lookup_elem(names_, &number, &name) == 0 && name.language < SONDE_LANGUAGES)
        known = known_
                    .emplace(number, InterpretedFrame{static_cast<sonde_language>(name.language),
                                                      one_line(name.function, sizeof name.function),
                                                      one_line(name.file, sizeof name.file)})
                    .first;
    if (known == known_.end()) // a word that the script has made up
        return InterpretedFrame{SONDE_LANGUAGE_PYTHON, "[unnamed function]", "", line};
    InterpretedFrame out = known->second;
    out.line = line;
    return out;
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

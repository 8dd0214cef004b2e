// A question is its kind and its arguments as bytes, and an answer is bytes, too. Except for texts, an empty answer
// means the same as no answer. So it is told only if an earlier answer was another one.
#include "runtime/sinks/recording/kept_symbols.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/plan/interpreted_stack.h"
#include "runtime/plan/stack.h"
#include "runtime/sinks/recording/bytes.h"

namespace sonde {
namespace {

constexpr size_t most_told = 1 << 18; // about 50 MB

enum Kind : uint8_t { ProcessOfStack = 1, Text, Source, Frame, Inlined, Visited };

std::string question(Kind kind, uint64_t process, uint64_t address, uint64_t style = 0) {
    std::string out(1, static_cast<char>(kind));
    for (const uint64_t number : {process, address, style})
        add_number(out, number);
    return out;
}
std::string stack_question(const std::string& text) { return static_cast<char>(ProcessOfStack) + text; }

} // namespace

void AskedSymbols::keep(const std::string& question, const std::string& answer) {
    const auto known = told_.find(question);
    const bool is_told = known == told_.end() ? answer.empty() && question[0] != Text : known->second == answer;
    if (is_told)
        return;
    if (told_.size() > most_told)
        tell_again();
    told_[question] = answer;
    tell_(question, answer);
}

uint64_t AskedSymbols::process_of_stack(const std::string& text) {
    const uint64_t process = symbols_.process_of_stack(text);
    std::string answer;
    if (process)
        add_number(answer, process);
    keep(stack_question(text), answer);
    return process;
}

std::string AskedSymbols::text(uint64_t process, uint64_t address, uint64_t style) {
    std::string out = symbols_.text(process, address, style);
    keep(question(Text, kept(process), address, style), out);
    return out;
}

std::string AskedSymbols::source(uint64_t process, uint64_t address) {
    std::string out = symbols_.source(process, address);
    keep(question(Source, kept(process), address), out);
    return out;
}

std::optional<InterpretedFrame> AskedSymbols::interpreted_frame(uint64_t word) {
    std::optional<InterpretedFrame> out = symbols_.interpreted_frame(word);
    std::string answer;
    if (out) {
        add_number(answer, static_cast<uint8_t>(out->language));
        add_number(answer, out->line);
        add_text(answer, out->function);
        add_text(answer, out->file);
    }
    keep(question(Frame, 0, word), answer);
    return out;
}

std::vector<InlinedCall> AskedSymbols::inlined(uint64_t process, uint64_t address) {
    std::vector<InlinedCall> out = symbols_.inlined(process, address);
    std::string answer;
    for (const InlinedCall& call : out) {
        add_number(answer, call.line);
        add_text(answer, call.name);
        add_text(answer, call.file);
    }
    keep(question(Inlined, kept(process), address), answer);
    return out;
}

VisitedStack AskedSymbols::visited_stack(uint64_t process, uint64_t thread, uint64_t most, bool with_arguments) {
    VisitedStack out = symbols_.visited_stack(process, thread, most, with_arguments);
    std::string answer;
    for (const std::string& text : {out.none, out.doing})
        add_text(answer, text);
    add_number(answer, out.process);
    add_number(answer, out.state);
    for (const VisitedFrame& frame : out.frames) {
        add_number(answer, frame.address);
        add_number(answer, static_cast<uint32_t>(frame.arguments.size()));
        for (const std::string& text : frame.arguments)
            add_text(answer, text);
    }
    keep(question(Visited, process, thread, most << 1 | with_arguments), answer);
    return out;
}

// The session's own cache would hide questions from the recording.
Rendered& AskedSymbols::rendered() {
    symbols_.rendered(); // reads new names of JIT compilers
    if (std::exchange(edition_, symbols_.edition()) != symbols_.edition())
        rendered_ = Rendered();
    return rendered_;
}

void KeptSymbols::add(std::string_view question, std::string_view answer) {
    const auto [known, is_new] = answers_.insert_or_assign(std::string(question), std::string(answer));
    if (!is_new)
        rendered_ = Rendered();
}

void KeptSymbols::note_stack(const std::string& text, uint64_t process) {
    std::string answer;
    add_number(answer, process);
    add(stack_question(text), answer);
}

const std::string* KeptSymbols::find(const std::string& question) const {
    const auto known = answers_.find(question);
    return known == answers_.end() ? nullptr : &known->second;
}

uint64_t KeptSymbols::process_of_stack(const std::string& text) {
    const std::string* answer = find(stack_question(text));
    return answer ? ByteCursor(*answer).take<uint64_t>() : 0;
}

std::string KeptSymbols::text(uint64_t process, uint64_t address, uint64_t style) {
    if (const std::string* answer = find(question(Text, process, address, style)))
        return *answer;
    missing_++;
    style &= SONDE_SYMBOL_STYLE;
    return style == SONDE_SYMBOL_MODULE || style >= SONDE_SYMBOL_PATH ? "" : fmt::format("{:#x}", address);
}

std::string KeptSymbols::source(uint64_t process, uint64_t address) {
    const std::string* answer = find(question(Source, process, address));
    return answer ? *answer : "";
}

std::optional<InterpretedFrame> KeptSymbols::interpreted_frame(uint64_t word) {
    const std::string* answer = sonde_is_interpreted_frame(word) ? find(question(Frame, 0, word)) : nullptr;
    if (!answer || answer->empty())
        return std::nullopt;
    ByteCursor in(*answer);
    InterpretedFrame out;
    out.language = static_cast<sonde_language>(std::min<uint8_t>(in.take<uint8_t>(), SONDE_LANGUAGES - 1));
    out.line = in.take<uint64_t>();
    out.function = take_text(in);
    out.file = take_text(in);
    return out;
}

std::vector<InlinedCall> KeptSymbols::inlined(uint64_t process, uint64_t address) {
    std::vector<InlinedCall> out;
    const std::string* answer = find(question(Inlined, process, address));
    for (ByteCursor in(answer ? std::string_view(*answer) : std::string_view()); !in.empty();) {
        InlinedCall call;
        call.line = in.take<uint32_t>();
        call.name = take_text(in);
        call.file = take_text(in);
        if (!in.failed())
            out.push_back(std::move(call));
    }
    return out;
}

VisitedStack KeptSymbols::visited_stack(uint64_t process, uint64_t thread, uint64_t most, bool with_arguments) {
    VisitedStack out;
    const std::string* answer = find(question(Visited, process, thread, most << 1 | with_arguments));
    if (!answer) {
        out.none = "the recording does not have it";
        return out;
    }
    ByteCursor in(*answer);
    out.none = take_text(in);
    out.doing = take_text(in);
    out.process = in.take<uint64_t>();
    out.state = in.take<uint64_t>();
    while (!in.empty()) {
        VisitedFrame frame;
        frame.address = in.take<uint64_t>();
        for (auto arguments = in.take<uint32_t>(); arguments > 0 && !in.failed(); arguments--)
            frame.arguments.emplace_back(take_text(in));
        if (!in.failed())
            out.frames.push_back(std::move(frame));
    }
    return out;
}

} // namespace sonde

// Guesses the language of a text. Our declarations begin with `probe`, `global`, `function`, `private`, a macro or a
// condition. So a text is in another language if a declaration begins with a provider and a colon, or has four fields
// separated by colons.
#include "frontend/bridge/bridge.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "frontend/bridge/perf.h"
#include "frontend/bridge/reader.h"
#include "frontend/bridge/tree.h"
#include "frontend/bridge/writer.h"

namespace sonde::bridge {
namespace {

constexpr std::array<std::pair<std::string_view, Dialect>, 3> dialects = {
    {{"bpftrace", Dialect::Bpftrace}, {"dtrace", Dialect::Dtrace}, {"perf", Dialect::Perf}}};

constexpr std::array<std::string_view, 37> providers = {"kprobe",
                                                        "kretprobe",
                                                        "k",
                                                        "kr",
                                                        "fentry",
                                                        "fexit",
                                                        "f",
                                                        "fr",
                                                        "kfunc",
                                                        "kretfunc",
                                                        "uprobe",
                                                        "uretprobe",
                                                        "u",
                                                        "ur",
                                                        "usdt",
                                                        "U",
                                                        "tracepoint",
                                                        "t",
                                                        "rawtracepoint",
                                                        "rt",
                                                        "profile",
                                                        "p",
                                                        "interval",
                                                        "i",
                                                        "software",
                                                        "s",
                                                        "hardware",
                                                        "h",
                                                        "iter",
                                                        "it",
                                                        "watchpoint",
                                                        "w",
                                                        "asyncwatchpoint",
                                                        "aw",
                                                        "self",
                                                        "bench",
                                                        "test"};

// The text after a `#!` line, comments, and preprocessor lines.
std::string_view skip_head(std::string_view text) {
    while (!text.empty()) {
        size_t end = 0;
        if (isspace(static_cast<unsigned char>(text[0])))
            end = 1;
        else if (text.starts_with("//") || text[0] == '#')
            end = std::min(text.find('\n'), text.size());
        else if (text.starts_with("/*"))
            end = text.find("*/") == std::string_view::npos ? text.size() : text.find("*/") + 2;
        else
            break;
        text.remove_prefix(end);
    }
    return text;
}

// The part of `kprobe:vfs_read /pid == 1/ {` before the condition or the block.
std::string_view first_spec(std::string_view text) {
    bool quotes = false;
    for (size_t i = 0; i < text.size(); i++) {
        quotes ^= text[i] == '"';
        if (!quotes &&
            (text[i] == '{' || text[i] == ',' || text[i] == '\n' || (text[i] == '/' && i > 0 && text[i - 1] == ' ')))
            return text.substr(0, i);
    }
    return text;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

} // namespace

std::optional<Dialect> find_dialect(std::string_view name) {
    for (auto [known, dialect] : dialects)
        if (name == known)
            return dialect;
    return {};
}

const char* name_of(Dialect dialect) {
    return dialect == Dialect::Bpftrace ? "bpftrace's"
           : dialect == Dialect::Dtrace ? "DTrace's"
                                        : "that of `perf probe`";
}

// The tests go from certain to less certain: a `#!` line, a command of perf, the first probe, and then words that only
// one of the languages has. A wrong guess would hide the parser's own message, so a text without such a sign is taken
// for our language.
//
//     kprobe:vfs_read { ... }         a provider of bpftrace and a colon
//     syscall::read:entry { ... }     four fields: DTrace
//     profile:::tick-1s { ... }       both have `profile`; an empty field follows only in DTrace
//     BEGIN { trace(1) }              both have `BEGIN`; only DTrace has trace()
std::optional<Dialect> guess_dialect(std::string_view text) {
    const std::string_view first_line = text.substr(0, text.find('\n'));
    if (first_line.starts_with("#!") && has_any(first_line, {"dtrace", "bpftrace"}))
        return first_line.find("bpftrace") != std::string_view::npos ? Dialect::Bpftrace : Dialect::Dtrace;
    if (text.starts_with("perf probe ") || is_kprobe_event(text))
        return Dialect::Perf;
    const std::string_view body = skip_head(text);
    std::string_view spec = first_spec(body);
    while (!spec.empty() && isspace(static_cast<unsigned char>(spec.back())))
        spec.remove_suffix(1);
    const std::string_view provider = spec.substr(0, spec.find(':'));
    const bool named = std::ranges::all_of(
        provider, [](unsigned char c) { return isalnum(c) || c == '_' || c == '$' || c == '-' || c == '*'; });
    const bool has_body = spec.size() < body.size();
    if (provider.size() < spec.size() && named) {
        if (std::ranges::find(providers, provider) != providers.end() && !spec.starts_with("profile::"))
            return Dialect::Bpftrace;
        if (std::ranges::count(spec, ':') == 3 || (provider.empty() && spec.starts_with("::")))
            return Dialect::Dtrace;
    }
    if ((spec.starts_with("tick-") || spec.starts_with("profile-")) && spec.size() > 5)
        return Dialect::Dtrace;
    const bool plain = spec == "BEGIN" || spec == "END" || spec == "ERROR";
    const bool declares = has_body && (spec.starts_with("struct ") || spec.starts_with("config "));
    if (has_body && plain)
        return has_any(text, {":::", "self->", "this->", "quantize(", "copyinstr(", "trace(", "pragma D", "printa("}) ||
                       spec == "ERROR" || has_any(text, {":entry", ":return"})
                   ? Dialect::Dtrace
                   : Dialect::Bpftrace;
    // None of our declarations begins this way.
    const bool declares_map = spec.starts_with("let @");
    const bool declares_function =
        has_body && (spec.starts_with("fn ") || spec.starts_with("macro ")) && spec.find('(') != std::string_view::npos;
    if (declares_map || declares_function || spec.starts_with("import \""))
        return Dialect::Bpftrace;
    if (declares && has_any(text, {"kprobe:", "tracepoint:", "kretprobe:", "uprobe:", "fentry:", "usdt:"}))
        return Dialect::Bpftrace;
    if (body.size() < text.size() && has_any(text, {"#pragma D "}))
        return Dialect::Dtrace;
    return {};
}

Result<Bridged> translate_from(Dialect dialect, std::string_view text, const BridgeOptions& options) {
    if (dialect == Dialect::Perf)
        return translate_perf(text, options);
    Result<Tree> tree = read_tree(text, dialect);
    if (!tree)
        return std::move(tree).error();
    return write_script(*tree, text, dialect, options);
}

} // namespace sonde::bridge

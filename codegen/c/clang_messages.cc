// Turns clang's messages into messages about the script. clang's messages are good, but do not know about scripts. So
// names in sonde's own C are replaced by the names in the script, the few messages that its macros cause get their own
// text, and only the first message at each place is reported.
#include "codegen/c/clang_messages.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "codegen/c/clang_positions.h"
#include "codegen/c/compile.h"
#include "codegen/c/kernel_declarations.h"
#include "codegen/c/prelude.h"
#include "codegen/emit/c_code.h"

namespace sonde {
namespace {

struct Message {
    std::string place; // "FILE:LINE:COLUMN"
    std::string text;
};

std::optional<Message> read_message(const std::string& line) {
    size_t mark = line.find(": error: ");
    if (mark == std::string::npos)
        mark = line.find(": fatal error: ");
    if (mark == std::string::npos)
        return std::nullopt;
    Message out{line.substr(0, mark), line.substr(line.find("error: ", mark) + 7)};
    if (size_t flag = out.text.rfind(" [-W"); flag != std::string::npos)
        out.text.resize(flag);
    std::replace(out.text.begin(), out.text.end(), '\'', '`');
    return out;
}

std::optional<Range> read_place(const std::string& place, const Sources& sources) {
    const size_t column = place.rfind(':');
    const size_t row = column == std::string::npos || column == 0 ? std::string::npos : place.rfind(':', column - 1);
    if (row == std::string::npos)
        return std::nullopt;
    return c_place(sources, place.substr(0, row), static_cast<unsigned>(std::atoi(&place[row + 1])),
                   static_cast<unsigned>(std::atoi(&place[column + 1])));
}

// A place in the script's C. For any other place: the end of the C that precedes it.
Range in_script(std::optional<Range> found, const std::vector<Range>& places) {
    const Range* before = places.data();
    for (const Range& one : places) {
        if (found && one.file == found->file && one.begin <= found->begin && found->begin < one.end)
            return *found;
        if (found && one.file == found->file && one.begin <= found->begin &&
            (before->file != one.file || before->begin < one.begin))
            before = &one;
    }
    return found ? Range{before->file, before->end - 2, before->end} : *before;
}

// Shows `sonde_c_f_body` as `f`, and the structure of its arguments as `THIS`.
void name_as_written(std::string& text) {
    for (size_t at = 0; (at = text.find(c_own_prefix, at)) != std::string::npos;)
        text.erase(at, c_own_prefix.size());
    const std::string prefix = c_symbol("");
    for (size_t at = 0; (at = text.find(prefix, at)) != std::string::npos;) {
        size_t end = at;
        while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
            end++;
        std::string name = text.substr(at + prefix.size(), end - at - prefix.size());
        if (name.ends_with("_this")) {
            constexpr std::string_view word = "struct ";
            if (at >= word.size() && text.compare(at - word.size(), word.size(), word) == 0)
                at -= word.size();
            name = "THIS";
        } else if (name.ends_with("_body")) {
            name.resize(name.size() - 5);
        }
        text.replace(at, end - at, name);
        at += name.size();
    }
}

bool is_macro(std::string_view word) {
    for (std::string_view text : {std::string_view(c_prelude), std::string_view(c_kernel_macros)}) {
        const std::string definition = fmt::format("#define {}", word);
        for (size_t at = text.find(definition); at != std::string_view::npos; at = text.find(definition, at + 1)) {
            const char next = text[at + definition.size()];
            if (!std::isalnum(static_cast<unsigned char>(next)) && next != '_')
                return true;
        }
    }
    return word == "MAXSTRINGLEN";
}

// Reads "struct s" from "`const struct s`", and "t" from "`t`". Returns nullopt for THIS, which is not a kernel type.
std::optional<CTypeName> read_type(std::string_view text) {
    for (std::string_view qualifier : {"const ", "volatile "})
        if (text.starts_with(qualifier))
            text.remove_prefix(qualifier.size());
    const size_t blank = text.find(' ');
    CTypeName out;
    if (blank != std::string_view::npos)
        out.keyword = text.substr(0, blank);
    out.name = text.substr(blank == std::string_view::npos ? 0 : blank + 1);
    const bool is_name =
        std::all_of(out.name.begin(), out.name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    return is_name && !out.name.starts_with(c_symbol("")) &&
                   (out.keyword.empty() || out.keyword == "struct" || out.keyword == "union" || out.keyword == "enum")
               ? std::optional(out)
               : std::nullopt;
}

// The type that a message reports as incomplete or unknown. For an incomplete type, clang quotes the name in the text
// and last its definition. For an unknown name, its suggestion follows the name. Examples, with the result:
//
//     incomplete definition of type `struct xfs_inode`                                struct xfs_inode
//     unknown type name `xfs_ino_t`; did you mean `ino_t`?                            xfs_ino_t
//     use of undeclared identifier `XFS_DINODE_MAGIC`                                 XFS_DINODE_MAGIC, an enumerator
std::optional<CTypeName> missing_type(const std::string& text) {
    const bool is_incomplete =
        text.find("incomplete ") != std::string::npos || text.find("never completed") != std::string::npos;
    if (!is_incomplete && !text.starts_with("unknown type name ") && !text.starts_with("use of undeclared identifier "))
        return std::nullopt;
    const size_t end = is_incomplete ? text.rfind('`') : text.find('`', text.find('`') + 1);
    const size_t begin = end == std::string::npos || end == 0 ? std::string::npos : text.rfind('`', end - 1);
    if (begin == std::string::npos)
        return std::nullopt;
    std::optional<CTypeName> out = read_type(std::string_view(text).substr(begin + 1, end - begin - 1));
    return out && is_incomplete == out->keyword.empty() ? std::nullopt : out;
}

struct Translation {
    std::string_view part, message, help; // a part of clang's message, and our whole message and help
};
constexpr Translation translations[] = {
    {"file not found", "C in a script cannot include other files",
     "remove the `#include`: the kernel's types are always available"},
    {"array initializer must be an initializer list or string literal", "the format must be a literal",
     "use `\"%s\"` as the format, and the text as its value"},
    {"should not return a value", "`return` cannot have a value in a function of the script",
     "use `STAP_RETURN(value)` to set the result and return"},
    {"in `struct sonde_context`", "`CONTEXT` has only `probe_point`, `uregs` and `user_mode_p`",
     "`register(\"name\")` in the script reads the probe's registers; `STAP_ERROR` ends with an error"},
    {"`__retvalue` with const-qualified type",
     "the string of `STAP_RETVALUE` cannot be replaced; write into the string",
     "use `STAP_RETURN(text)` or `strlcpy(STAP_RETVALUE, text, MAXSTRINGLEN)`"},
};

void report(const Message& message, Range range, const std::string& why_missing, Diagnostics& diags) {
    constexpr std::string_view unknown = "call to undeclared function `", failed = "static assertion failed: ";
    if (message.text.starts_with(unknown)) {
        report_unknown_function(
            diags, range, message.text.substr(unknown.size(), message.text.find('`', unknown.size()) - unknown.size()));
        return;
    }
    if (const size_t at = message.text.find(c_other_layout); at != std::string::npos) {
        diags.report(DiagId::EmbeddedCode, range, message.text.substr(at) + ": its members would have other offsets")
            .help("read the member in the script: `@cast(address, \"type\", \"kernel\")->member`");
        return;
    }
    for (const Translation& one : translations)
        if (message.text.find(one.part) != std::string::npos) {
            diags.report(DiagId::EmbeddedCode, range, std::string(one.message)).help(std::string(one.help));
            return;
        }
    std::string text = message.text.starts_with(failed) ? message.text.substr(failed.size()) : message.text;
    name_as_written(text);
    const std::string_view word = diags.sources().text(range.file).substr(range.begin, range.end - range.begin);
    DiagBuilder said = diags.report(DiagId::EmbeddedCode, range, text);
    if (!why_missing.empty())
        said.help(why_missing);
    else if (text.starts_with("expected") && is_macro(word))
        said.help(fmt::format("`{}` is a macro of the kernel's headers; use another name, or `#undef {}`", word, word));
}

// The words in the script at which these messages are.
template <typename Wanted>
std::set<std::string> words_at(const std::string& messages, const Sources& sources, const Wanted& is_wanted) {
    std::set<std::string> out;
    for (size_t line = 0; line < messages.size();) {
        const size_t end = std::min(messages.find('\n', line), messages.size());
        const std::optional<Message> message = read_message(messages.substr(line, end - line));
        line = end + 1;
        const std::optional<Range> at = message ? read_place(message->place, sources) : std::nullopt;
        if (!at)
            continue;
        std::string word(sources.text(at->file).substr(at->begin, at->end - at->begin));
        if (is_wanted(message->text, word))
            out.insert(std::move(word));
    }
    return out;
}

} // namespace

std::set<CTypeName> missing_types(const std::string& messages) {
    std::set<CTypeName> out;
    for (size_t line = 0; line < messages.size();) {
        const size_t end = std::min(messages.find('\n', line), messages.size());
        if (const std::optional<Message> message = read_message(messages.substr(line, end - line)))
            if (std::optional<CTypeName> type = missing_type(message->text))
                out.insert(*std::move(type));
        line = end + 1;
    }
    return out;
}

std::set<std::string> names_declared_twice(const std::string& messages, const Sources& sources) {
    constexpr std::string_view parts[] = {"redefinition", "conflicting types for",
                                          "does not match previous declaration"};
    // Not every message contains the name, but each is at the name.
    return words_at(messages, sources, [&](const std::string& text, const std::string&) {
        return std::any_of(std::begin(parts), std::end(parts),
                           [&](std::string_view part) { return text.find(part) != std::string::npos; });
    });
}

std::set<std::string> macros_in_the_way(const std::string& messages, const Sources& sources) {
    return words_at(messages, sources, [](const std::string& text, const std::string& word) {
        return text.starts_with("expected") && is_macro(word);
    });
}

void report_clang_messages(const std::string& messages, const std::vector<Range>& places,
                           const std::function<std::string(const CTypeName&)>& why_missing, Diagnostics& diags) {
    std::set<std::tuple<FileId, uint32_t, uint32_t>> said;
    // Ignore further messages on a line with an unknown function, because they follow from that.
    std::set<std::pair<FileId, uint32_t>> unknown;
    for (size_t line = 0; line < messages.size();) {
        const size_t end = std::min(messages.find('\n', line), messages.size());
        const std::optional<Message> message = read_message(messages.substr(line, end - line));
        line = end + 1;
        if (!message || message->text.starts_with("too many errors"))
            continue;
        const Range range = in_script(read_place(message->place, diags.sources()), places);
        const std::pair line_of(range.file, diags.sources().line_column(range.file, range.begin).line);
        if (message->text.find("call to undeclared function") != std::string::npos)
            unknown.insert(line_of);
        else if (unknown.contains(line_of))
            continue;
        if (!said.emplace(range.file, range.begin, range.end).second)
            continue;
        const std::optional<CTypeName> type = missing_type(message->text);
        report(*message, range, type ? why_missing(*type) : "", diags);
    }
}

} // namespace sonde

// Completes an unfinished probe point, or a script that ends anywhere.
//
// The completions come from the same sources as the translation: the built-in forms of points, the library's aliases,
// and listings (-l) of patterns for the names in programs and in the kernel. To complete
// `process("nginx").function("ngx_http_`, the code lists `process("nginx").function("ngx_http_*")`, so a completed
// point always resolves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

struct Completion {
    std::string text;     // the whole word
    std::string help;     // a few words about it; may be empty
    bool is_whole = true; // false: it is unfinished
};

// The sources of completions. list() returns nothing for a wrong point.
struct PointSources {
    std::vector<std::string> forms;   // `process(string).function(string).return`
    std::vector<std::string> aliases; // `tcp.sendmsg.return`
    std::function<std::vector<std::string>(const std::string& point, bool with_variables)> list;
    std::function<std::vector<std::string>()> functions; // `strlen:long (s:string)`
};

// Returns the continuations of the point. Each begins with `text`. A single unfinished continuation is followed until
// several exist.
std::vector<Completion> complete_point(const std::string& text, const PointSources& sources);

// Completes a script: declarations at the top level, points in the head of a probe, and in a handler the `$variables`
// of its points, operators and functions.
std::vector<Completion> complete_script(const std::string& script, const PointSources& sources);

// The place at which a script ends. Elsewhere: in a comment, or in a string of a handler.
enum class ScriptPlace : uint8_t { Top, Head, Body, Elsewhere };
// The same, but `words` contains only the texts that replace the script from the offset `begin`.
struct ScriptCompletions {
    ScriptPlace place = ScriptPlace::Elsewhere;
    size_t begin = 0;
    std::vector<Completion> words;
};
ScriptCompletions complete_script_end(const std::string& script, const PointSources& sources);

// Returns programs and libraries whose name or path begins with `text`. Folders end in `/`.
std::vector<Completion> complete_program(const std::string& text);

// Returns the string argument of component number `index` of a listed point, without the file and line of a function.
// Empty: the component has no string.
std::string listed_name(const std::string& point, size_t index);
size_t count_components(std::string_view point);

} // namespace sonde

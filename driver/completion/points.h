// How an unfinished probe point, or a script that ends inside of something, may go on.
//
// What there is comes from where the translation takes it: the forms of points that are built in, the library's
// aliases, and listings (-l) of patterns for what programs and the kernel have. `process("nginx").function("ngx_http_`
// is the listing of `process("nginx").function("ngx_http_*")`, so a completed point is one that resolves.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

struct Completion {
    std::string text;     // the whole word
    std::string help;     // a few words about it; may be empty
    bool is_whole = true; // false: it has to go on
};

// What completions are made of. A listing of a point that is wrong is empty.
struct PointSources {
    std::vector<std::string> forms;   // `process(string).function(string).return`
    std::vector<std::string> aliases; // `tcp.sendmsg.return`
    std::function<std::vector<std::string>(const std::string& point, bool with_variables)> list;
    std::function<std::vector<std::string>()> functions; // `strlen:long (s:string)`
};

// How the point may go on; all have the text as their beginning. One that has to go on is followed to where there are
// several.
std::vector<Completion> complete_point(const std::string& text, const PointSources& sources);

// The same of a script: words that begin declarations, points in a probe's head, in a handler `$variables` of its
// points, operators and functions.
std::vector<Completion> complete_script(const std::string& script, const PointSources& sources);

// The programs and libraries whose name or path begins so; folders end in `/`.
std::vector<Completion> complete_program(const std::string& text);

// Of a listed point, the string that its component number `index` has in parentheses, without a function's file and
// line. Empty: it has none.
std::string listed_name(const std::string& point, size_t index);
size_t count_components(std::string_view point);

} // namespace sonde

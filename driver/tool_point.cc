// Short forms are expanded as text, before the script is parsed: a tool gets a complete probe point as its argument. A
// name of a file is searched first in the target, then in the installed libraries, then in $PATH.
#include "driver/tool_point.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/glob.h"
#include "base/shared_libraries.h"
#include "base/started_by_script.h"
#include "base/suggest.h"

namespace sonde {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "libc" for libc.so.6 and for libc-2.31.so.
std::string plain_name(const std::string& path) {
    std::string name = file_name(path);
    name.erase(std::min(name.find(".so"), name.size()));
    size_t dash = name.rfind('-');
    if (dash != std::string::npos && dash + 1 < name.size() && isdigit(static_cast<unsigned char>(name[dash + 1])))
        name.erase(dash);
    return name;
}

// `libc.so.6`, `libc` and `c` name the file /lib/libc.so.6.
bool is_named(const std::string& path, const std::string& name) {
    return file_name(path) == name || plain_name(path) == name || plain_name(path) == "lib" + name;
}

// Writes a string of the script language.
std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (char c : text)
        out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return out + "\"";
}

std::string function_of(std::string_view path, std::string_view function) {
    return fmt::format("process({}).function({})", in_quotes(path), in_quotes(function));
}

// Follows a shell script in place of an interpreter, such as a version manager's.
Result<std::string> behind_script(const std::string& name, const std::string& script) {
    std::string program = program_started_by(script, name);
    if (!program.empty())
        return program;
    return Error(fmt::format("`{}` is the script `{}`, which starts another program; give the path of that program",
                             name, script));
}

} // namespace

Result<std::string> find_library_path(const std::string& name, const PointTarget& target) {
    std::error_code ignored;
    if (name.find('/') != std::string::npos) {
        if (std::filesystem::exists(name, ignored))
            return std::filesystem::absolute(name, ignored).string();
        return Error(fmt::format("there is no file `{}`", name));
    }
    // The target comes first: it can use another version of a library than the installed one.
    std::vector<std::string> known;
    if (target.pid)
        known = mapped_libraries(target.pid);
    else if (!target.command.empty())
        if (Result<std::string> program = find_in_path(target.command.substr(0, target.command.find(' ')))) {
            if (is_script(*program) && is_named(*program, name))
                return behind_script(name, *program);
            known = shared_libraries(*program, target.architecture->library_search());
            known.push_back(*program);
        }
    for (std::string& path : installed_libraries(target.architecture->library_search()))
        known.push_back(std::move(path));
    for (const std::string& path : known)
        if (is_named(path, name))
            return path;
    if (Result<std::string> program = find_in_path(name); program && program->find('/') != std::string::npos) {
        if (is_script(*program))
            return behind_script(name, *program);
        return program;
    }
    std::vector<std::string> names;
    for (const std::string& path : known)
        names.push_back(plain_name(path));
    std::string near = nearest_name(name, names);
    return Error(fmt::format("`{}` is not a library or program{}; give its path", name,
                             near.empty() ? "" : fmt::format(" (did you mean `{}`?)", near)));
}

Result<std::string> expand_point(const std::string& written, const PointTarget& target) {
    // At the return. The rest is a short form itself, or `:f` for a function of the kernel.
    if (written.starts_with("r:") && written.find(':', 2) != std::string::npos) {
        Result<std::string> entry = expand_point(written[2] == ':' ? written.substr(3) : written.substr(2), target);
        return entry ? Result(*entry + ".return") : entry;
    }
    size_t colon = written.find(':');
    if (std::error_code error; colon == std::string::npos && written.find('/') != std::string::npos &&
                               std::filesystem::is_regular_file(written, error))
        return Error(fmt::format("`{0}` is a file: name functions of it, as in `{0}:main`; `{0}:*` is all", written));
    if (written.find('(') < colon || (colon == std::string::npos && written.find('.') != std::string::npos))
        return written;
    if (written.empty())
        return Error("a POINT may not be empty");
    if (colon == std::string::npos)
        return fmt::format("kernel.function({})", in_quotes(written));
    std::string before = written.substr(0, colon), after = written.substr(colon + 1);
    if (before == "p" && after.starts_with(':'))
        return fmt::format("kernel.function({})", in_quotes(after.substr(1)));
    if (after.empty())
        return Error(fmt::format("`{}`: nothing follows the `:`", written));
    if (before == "t")
        return fmt::format("kernel.trace({})", in_quotes(after));
    if (before.empty())
        return fmt::format("process.function({})", in_quotes(after));
    if (before == "u") {
        size_t next = after.find(':');
        if (next == std::string::npos || next + 1 == after.size())
            return Error(fmt::format("`{}`: a static mark is u:LIBRARY:MARK", written));
        Result<std::string> path = find_library_path(after.substr(0, next), target);
        if (!path)
            return std::move(path).error().in(fmt::format("`{}`", written));
        std::string mark = after.substr(next + 1);
        size_t provider = mark.find(':');
        if (provider == std::string::npos)
            return fmt::format("process({}).mark({})", in_quotes(*path), in_quotes(mark));
        return fmt::format("process({}).provider({}).mark({})", in_quotes(*path), in_quotes(mark.substr(0, provider)),
                           in_quotes(mark.substr(provider + 1)));
    }
    Result<std::string> path = find_library_path(before, target);
    if (!path && before == "r")
        return Error(
            fmt::format("`r` is not a library or program; write `r::{}` for the return of a kernel function", after));
    if (!path)
        return std::move(path).error().in(fmt::format("`{}`", written));
    return function_of(*path, after);
}

} // namespace sonde

// Matching goes back only to the last `*`. The choices of earlier `*` never need to change, so the time is at most the
// product of the two lengths. With recursion at each `*`, the time would be exponential.
//
// Example: `*ab*c` on "xababdc". The first `*` takes "x", and `ab` matches. The second `*` first takes nothing. `c`
// does not match "a", so the second `*` takes one more character, and so on until it has "abd". The first `*` could
// also take "xab", but that would only leave less text for the second one.
#include "base/glob.h"

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace sonde {
namespace {

struct SetMatch {
    bool matches;
    size_t end; // after the `]`
};

// Matches `[...]` at pattern[at]; nullopt if the `]` is missing.
std::optional<SetMatch> match_set(std::string_view pattern, size_t at, char c) {
    size_t i = at + 1;
    bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
    if (negated)
        i++;
    bool matches = false;
    auto code = static_cast<unsigned char>(c);
    // A `]` in the first position is a member of the set.
    for (size_t first = i; i < pattern.size(); i++) {
        if (pattern[i] == ']' && i != first)
            return SetMatch{matches != negated, i + 1};
        if (pattern[i] == '\\' && i + 1 < pattern.size())
            i++;
        auto low = static_cast<unsigned char>(pattern[i]), high = low;
        if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
            i += 2;
            if (pattern[i] == '\\' && i + 1 < pattern.size())
                i++;
            high = static_cast<unsigned char>(pattern[i]);
        }
        matches |= low <= code && code <= high;
    }
    return std::nullopt;
}

// Matches one element of the pattern (not `*`) against one character. Returns the index after the element, or nullopt.
std::optional<size_t> match_one(std::string_view pattern, size_t at, char c) {
    switch (pattern[at]) {
    case '?':
        return at + 1;
    case '[':
        if (std::optional<SetMatch> set = match_set(pattern, at, c))
            return set->matches ? std::optional(set->end) : std::nullopt;
        break;
    case '\\':
        if (at + 1 < pattern.size())
            at++;
        break;
    default:
        break;
    }
    return pattern[at] == c ? std::optional(at + 1) : std::nullopt;
}

enum class Found { Yes, Missing, NotAFile, NotExecutable, NoPermission, Other };

// The type of file at a path. For Other, errno has the reason.
Found look_at(const std::string& path, bool executable) {
    struct stat status{};
    if (stat(path.c_str(), &status) != 0) {
        if (errno == EACCES)
            return Found::NoPermission;
        return errno == ENOENT || errno == ENOTDIR ? Found::Missing : Found::Other;
    }
    if (!S_ISREG(status.st_mode))
        return Found::NotAFile;
    if (executable && access(path.c_str(), X_OK) != 0)
        return Found::NotExecutable;
    return Found::Yes;
}

Result<std::string> absolute_path(const std::string& path) {
    if (path[0] == '/')
        return path;
    char* folder = getcwd(nullptr, 0);
    if (!folder)
        return errno_error("cannot get the working folder", errno);
    std::string out = folder;
    std::free(folder);
    size_t begin = 0;
    while (path.compare(begin, 2, "./") == 0)
        begin = std::min(path.find_first_not_of('/', begin + 2), path.size());
    if (!out.ends_with('/'))
        out += '/';
    return out + path.substr(begin);
}

Result<std::string> take_path(const std::string& name) {
    switch (look_at(name, false)) {
    case Found::Yes:
    case Found::NotExecutable:
        break;
    case Found::Missing:
        return Error(fmt::format("`{}` does not exist", name), ENOENT);
    case Found::NotAFile:
        return Error(fmt::format("`{}` is not a regular file", name), EINVAL);
    case Found::NoPermission:
        return Error(fmt::format("no permission to look up `{}`", name), EACCES);
    case Found::Other:
        return errno_error(fmt::format("cannot look up `{}`", name), errno);
    }
    return absolute_path(name);
}

// The folders of $PATH in their order. An empty one is the working folder (execvp(3)).
std::vector<std::string> search_folders() {
    const char* given = std::getenv("PATH");
    const std::string path = given ? given : "/usr/local/bin:/usr/bin:/bin";
    std::vector<std::string> out;
    for (size_t at = 0; at <= path.size();) {
        const size_t end = std::min(path.find(':', at), path.size());
        out.push_back(end == at ? "." : path.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

} // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
    size_t p = 0, t = 0;
    std::optional<size_t> star; // index after the last `*`
    size_t star_text = 0;       // end of the text that this `*` has matched
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = ++p;
            star_text = t;
            continue;
        }
        if (p < pattern.size()) {
            if (std::optional<size_t> next = match_one(pattern, p, text[t])) {
                p = *next;
                t++;
                continue;
            }
        }
        if (!star)
            return false;
        p = *star;
        t = ++star_text;
    }
    while (p < pattern.size() && pattern[p] == '*')
        p++;
    return p == pattern.size();
}

bool has_wildcard(std::string_view pattern) { return pattern.find_first_of("*?[\\") != std::string_view::npos; }

std::vector<std::string> expand_path_glob(const std::string& pattern) {
    std::vector<std::string> paths;
    glob_t found{};
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
        paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
    return paths;
}

bool is_script(const std::string& path) {
    char head[2] = {};
    std::ifstream(path).read(head, sizeof head);
    return std::string_view(head, sizeof head) == "#!";
}

Result<std::string> find_in_path(const std::string& name) {
    if (name.empty())
        return Error("the program's name is empty", EINVAL);
    if (name.find('/') != std::string::npos)
        return take_path(name);

    // A file that exists but cannot be used is skipped; the error names it if no other is found.
    std::optional<Error> nearly;
    for (const std::string& folder : search_folders()) {
        const std::string candidate = fmt::format("{}/{}", folder, name);
        switch (look_at(candidate, true)) {
        case Found::Yes:
            return absolute_path(candidate);
        case Found::NotExecutable:
            nearly = Error(fmt::format("`{}` is not executable", candidate), EACCES);
            break;
        case Found::NoPermission:
            if (!nearly)
                nearly = Error(fmt::format("no permission to look up `{}`", candidate), EACCES);
            break;
        case Found::Missing:
        case Found::NotAFile:
        case Found::Other:
            break;
        }
    }
    if (nearly)
        return *std::move(nearly);
    if (look_at(name, false) == Found::Yes)
        return Error(fmt::format("`{0}` is not in $PATH; write `./{0}` for the file in the working folder", name),
                     ENOENT);
    return Error(fmt::format("`{}` is not in $PATH", name), ENOENT);
}

std::vector<std::string> programs_beginning(const std::string& begin) {
    std::map<std::string, std::string> found;
    for (const std::string& folder : search_folders()) {
        std::error_code ignored;
        for (std::filesystem::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored))
            if (const std::string name = at->path().filename(); name.starts_with(begin) && !found.contains(name))
                if (const std::string path = fmt::format("{}/{}", folder, name); look_at(path, true) == Found::Yes)
                    if (Result<std::string> absolute = absolute_path(path))
                        found.emplace(name, *std::move(absolute));
    }
    std::vector<std::string> out;
    for (auto& [name, path] : found)
        out.push_back(std::move(path));
    return out;
}

Result<std::string> find_file(const std::string& name) {
    Result<std::string> found = find_in_path(name);
    if (found || name.empty() || name.find('/') != std::string::npos)
        return found;
    switch (look_at(name, false)) {
    case Found::Yes:
        return absolute_path(name);
    case Found::NotAFile:
        return Error(fmt::format("`{}` is not in $PATH, and the one in the working folder is not a regular file", name),
                     ENOENT);
    default:
        if (found.error().os_error != ENOENT)
            return found;
        return Error(fmt::format("`{}` is neither in $PATH nor in the working folder", name), ENOENT);
    }
}

} // namespace sonde

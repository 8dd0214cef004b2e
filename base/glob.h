// Wildcards in names and paths, and where a program lies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde {

// Whether the whole text matches: `*` any letters (also none, also `/`), `?` one, `[a-z]` one of these, `[!a-z]` or
// `[^a-z]` one of the others, `\x` just x. A `[` that is never closed is a plain letter.
bool glob_match(std::string_view pattern, std::string_view text);

// Whether glob_match can differ from plain equality: the pattern has one of * ? [ \.
bool has_wildcard(std::string_view pattern);

// The existing paths that match, sorted; here `*` and `?` stop at `/`. Empty if none.
std::vector<std::string> expand_path_glob(const std::string& pattern);

// The program that `name` means, as an absolute path: a bare name is searched for in $PATH as a shell does (executable
// files only); a name with `/` is taken as it is, relative to the working folder, and need not be executable, because
// it may be a library. Symbolic links are kept. The error says which it is: missing, not a regular file, not
// executable, or no permission to look.
Result<std::string> find_in_path(const std::string& name);
// The programs in $PATH whose names begin so, as absolute paths, each name once: what find_in_path() finds by it.
std::vector<std::string> programs_beginning(const std::string& begin);
// Whether it is a file that another program is started for, named in its first line (execve(2), "Interpreter scripts").
bool is_script(const std::string& path);

// The same for a file that is probed or read: one that $PATH does not have is looked for in the working folder, and
// need not be executable there.
Result<std::string> find_file(const std::string& name);

} // namespace sonde

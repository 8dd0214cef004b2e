// Wildcards in names and paths; finding programs in $PATH.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde {

// Whether the whole text matches. `*` stands for any characters (also none, also `/`), `?` for one, `[a-z]` for one of
// these, `[!a-z]` or `[^a-z]` for one of the others, and `\x` for x itself. A `[` without a `]` is an ordinary
// character.
bool glob_match(std::string_view pattern, std::string_view text);

// Whether the pattern contains * ? [ or \, so that glob_match can differ from equality.
bool has_wildcard(std::string_view pattern);

// Existing paths that match, sorted; empty if none. Here, `*` and `?` do not match `/`.
std::vector<std::string> expand_path_glob(const std::string& pattern);

// The absolute path of the program called `name`. A name without `/` is searched in $PATH like in a shell (executable
// files only). A name with `/` is relative to the working folder; the file need not be executable, because it may be a
// library. Symbolic links are not resolved. Errors: the file is missing, not a regular file or not executable, or there
// is no permission.
Result<std::string> find_in_path(const std::string& name);
// The programs in $PATH whose names begin with `begin`, as absolute paths. Each name occurs once: the file that
// find_in_path() would find.
std::vector<std::string> programs_beginning(const std::string& begin);
// Whether the file begins with a line that names its interpreter (execve(2), "Interpreter scripts").
bool is_script(const std::string& path);

// The same for a file that is probed or read. If it is not in $PATH, it is searched in the working folder, where it
// need not be executable.
Result<std::string> find_file(const std::string& name);

} // namespace sonde

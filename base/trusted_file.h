// Files that are shared between users. Files that root executes or obeys must belong to root. Files that are created
// must be at their path, not at the target of another user's link.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// Like read_file, for a file that controls what this process does. If root runs sonde, the file must belong to root or
// to the user who called sudo. No other user may be able to write the file or the folders on its path (sticky folders
// may be writable). Errors name the problem and the command that fixes it.
Result<std::string> read_trusted_file(const std::string& path);

// Whether this process has more rights than its user, through file capabilities or set-user-id.
bool has_lent_rights();

// Like read_trusted_file, for a file that contains native code. With additional rights the file must belong to root,
// because its code would have these rights.
Result<std::string> read_code_file(const std::string& path);

// Opens a file for writing, and creates or truncates it. In folders that everyone may write (sticky, such as /tmp), it
// refuses links, files and pipes of other users, regardless of the kernel's fs.protected_* settings. `flags`: O_APPEND,
// O_NONBLOCK. Opening a pipe waits for a reader; a signal can interrupt this (EINTR).
Result<Fd> create_file(const std::string& path, int flags = 0, unsigned mode = 0666);

} // namespace sonde

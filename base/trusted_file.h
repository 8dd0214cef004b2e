// Files that one user writes and another one uses: what root takes as instructions must be root's, and what is created
// goes where its name says, not where somebody else's link leads.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// As read_file, of a file that says what this process is to do. Run by root, it may be the work of root or of the user
// who called sudo only: owned by one of them, writable by nobody else, as are the folders on the way to it (a sticky
// one may be writable). Errors name what is wrong and the command that mends it.
Result<std::string> read_trusted_file(const std::string& path);

// Whether the program's file has given this process rights that its user has not: file capabilities, set-user-id.
bool has_lent_rights();

// As read_trusted_file, of a file that contains native code. With lent rights it has to be root's alone, as the code
// would have these rights.
Result<std::string> read_code_file(const std::string& path);

// Opens a file for writing, created or emptied. A link, file or pipe that another user has put into a folder that all
// may write to (sticky, such as /tmp) is refused, whatever the kernel's fs.protected_* are. `flags`: O_APPEND,
// O_NONBLOCK. A signal can interrupt the wait for a pipe's reader (EINTR).
Result<Fd> create_file(const std::string& path, int flags = 0, unsigned mode = 0666);

} // namespace sonde

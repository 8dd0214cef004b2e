// Finds the program that a script starts, if the script stands in place of an interpreter: a version manager's shim, or
// a wrapper.
#pragma once

#include <string>

namespace sonde {

// Returns the path of the program that `script` starts as `name` ("python3"); empty if unknown. Does not run the
// script. Supports
// * the shims of pyenv, rbenv and similar managers: ROOT/shims/NAME starts ROOT/versions/VERSION/bin/NAME. VERSION
//   comes from the environment, from the nearest .NAME-version file, or from ROOT/version;
// * a wrapper with a line `exec /path/to/program ...`.
std::string program_started_by(const std::string& script, const std::string& name);

} // namespace sonde

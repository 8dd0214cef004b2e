// The program that a script in an interpreter's place starts: a version manager's shim, or a wrapper.
#pragma once

#include <string>

namespace sonde {

// The path of the program that `script` starts as `name` ("python3"); empty if that is not known. Nothing is run.
// Understood are
// * the shims of pyenv, rbenv and their like: ROOT/shims/NAME starts ROOT/versions/VERSION/bin/NAME, where VERSION
// comes from the
//   environment, from the nearest .NAME-version file, or from ROOT/version;
// * a wrapper with a line `exec /path/to/program ...`.
std::string program_started_by(const std::string& script, const std::string& name);

} // namespace sonde

// A uprobe belongs to a file that is executed. If `python3` in $PATH is a shell script of a version manager, a probe in
// that file is never hit, because the script only starts the real interpreter. Running the script to find out could do
// anything, so these functions repeat its search: environment variable, version files, then the default version.
//
// The result may be wrong if the script depends on anything else. It is therefore a real file in the expected place, or
// nothing.
#include "base/started_by_script.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/glob.h"

namespace sonde {
namespace {

namespace fs = std::filesystem;

constexpr int most_scripts = 4; // length of a chain of scripts

struct VersionManager {
    std::string_view program; // the beginning of its name
    std::string_view variable, file;
};
constexpr VersionManager managers[] = {
    {"python", "PYENV_VERSION", ".python-version"}, {"ruby", "RBENV_VERSION", ".ruby-version"},
    {"irb", "RBENV_VERSION", ".ruby-version"},      {"node", "NODENV_VERSION", ".node-version"},
    {"php", "PHPENV_VERSION", ".php-version"},      {"perl", "PLENV_VERSION", ".perl-version"},
};

std::string first_word(const fs::path& file) {
    std::ifstream in(file);
    std::string word;
    in >> word;
    return word;
}

// Returns the version, such as "3.12.1". If several are chosen, returns the first one.
std::string chosen_version(const VersionManager& manager, const fs::path& root) {
    std::string version;
    if (const char* set = std::getenv(std::string(manager.variable).c_str()))
        version = set;
    std::error_code ignored;
    for (fs::path folder = fs::current_path(ignored); version.empty() && !folder.empty();
         folder = folder.parent_path()) {
        version = first_word(folder / manager.file);
        if (folder == folder.root_path())
            break;
    }
    if (version.empty())
        version = first_word(root / "version");
    return version.substr(0, version.find(':'));
}

// Returns the program with this name in another folder of $PATH than the shims.
std::string in_later_folder(const std::string& name, const fs::path& shims) {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "");
    std::error_code ignored;
    for (std::string folder; std::getline(folders, folder, ':');)
        if (!folder.empty() && !fs::equivalent(folder, shims, ignored) &&
            fs::is_regular_file(fs::path(folder) / name, ignored))
            return fs::path(folder) / name;
    return "";
}

std::string program_of_shim(const fs::path& script, const std::string& name) {
    const fs::path shims = script.parent_path(), root = shims.parent_path();
    const auto* manager =
        std::ranges::find_if(managers, [&](const VersionManager& one) { return name.starts_with(one.program); });
    std::error_code ignored;
    if (shims.filename() != "shims" || manager == std::end(managers) || !fs::is_directory(root / "versions", ignored))
        return "";
    const std::string version = chosen_version(*manager, root);
    if (version.empty() || version == "system")
        return in_later_folder(name, shims);
    const fs::path program = root / "versions" / version / "bin" / name;
    return fs::is_regular_file(program, ignored) ? program.string() : "";
}

// Returns the path in the last line of the form `exec /path/to/program ...`.
std::string program_of_wrapper(const std::string& script) {
    std::ifstream in(script);
    std::string found;
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string command, program;
        words >> command >> program;
        std::erase(program, '"');
        std::erase(program, '\'');
        if (command == "exec" && program.starts_with('/'))
            found = program;
    }
    std::error_code ignored;
    return fs::is_regular_file(found, ignored) ? found : "";
}

} // namespace

std::string program_started_by(const std::string& script, const std::string& name) {
    std::string program = script;
    for (int i = 0; i < most_scripts && !program.empty() && is_script(program); i++) {
        const std::string of_shim = program_of_shim(program, name);
        program = of_shim.empty() ? program_of_wrapper(program) : of_shim;
    }
    return program.empty() || is_script(program) ? "" : program;
}

} // namespace sonde

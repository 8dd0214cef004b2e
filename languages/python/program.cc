// Python adds one folder to its module search path for the program itself: the folder of the script, or the working
// folder for `-m` and `-c`. The standard library is in `lib/pythonX.Y` beside the interpreter's folder. Packages are
// below it in `site-packages`, and on Debian also in `lib/python3/dist-packages`. A virtual environment has an
// interpreter and a `lib/pythonX.Y` of its own.
#include "languages/python/program.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "base/fd.h"
#include "languages/python/source.h"

namespace sonde {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_files = 50000;
constexpr int most_levels = 8;

// Visits the Python files below a folder, up to a number of files.
void visit_files(const fs::path& folder, size_t most, const std::function<void(const std::string&)>& visit) {
    std::error_code error;
    fs::recursive_directory_iterator all(folder, fs::directory_options::skip_permission_denied, error);
    for (; !error && all != fs::recursive_directory_iterator() && most > 0; all.increment(error), most--) {
        const std::string name = all->path().filename().string();
        if (name.starts_with('.') || name == "__pycache__" || all.depth() > most_levels)
            all.disable_recursion_pending();
        else if (name.ends_with(".py") && all->is_regular_file(error))
            visit(all->path().string());
    }
}

// The script among the words of a command; empty if there is none, as with `-m` and `-c`.
std::string script_in(const std::vector<std::string>& command) {
    if (command.empty() || !is_python_command(command[0]))
        return command.empty() ? "" : command[0];
    for (size_t i = 1; i < command.size(); i++) {
        const std::string& word = command[i];
        if (!word.starts_with('-'))
            return word;
        // The last letter of `-m`, `-Im` and so on takes the rest of the word or the next word.
        if (!word.starts_with("--") && word.find_first_of("mc") != std::string::npos)
            return "";
        if (word == "-W" || word == "-X" || word == "--check-hash-based-pycs")
            i++;
    }
    return "";
}

fs::path absolute_in(const std::string& folder, const fs::path& path) {
    return (folder.empty() || path.is_absolute() ? path : folder / path).lexically_normal();
}

// The folder that the program adds to the module search path.
fs::path own_folder(const PythonProgram& program) {
    const std::string script = script_in(program.command);
    std::error_code error;
    if (script.empty())
        return program.folder;
    const fs::path path = fs::weakly_canonical(absolute_in(program.folder, script), error);
    return fs::is_directory(path, error) ? path : path.parent_path();
}

// The folders of the standard library and of installed packages.
std::set<fs::path> library_folders(const PythonProgram& program) {
    const std::string name = "python" + program.version;
    std::set<fs::path> roots = {fs::path(program.interpreter).parent_path()};
    if (!program.command.empty() && is_python_command(program.command[0]) &&
        program.command[0].find('/') !=
            std::string::npos) // the interpreter of a virtual environment is a symbolic link
        roots.insert(absolute_in(program.folder, program.command[0]).parent_path());
    std::set<fs::path> out;
    for (const fs::path& root : roots) {
        const fs::path above = root.parent_path();
        for (const fs::path& folder : {root / name, above / name, above / "lib" / name,
                                       above / "lib/python3/dist-packages", above / "local/lib" / name})
            out.insert(folder);
    }
    return out;
}

// Reads texts that each end with a zero byte (proc(5)).
std::vector<std::string> read_texts(const std::string& path) {
    const Result<std::string> all = read_file(path);
    std::vector<std::string> out;
    for (size_t at = 0; all && at < all->size(); at += out.back().size() + 1)
        out.emplace_back(all->c_str() + at);
    return out;
}

} // namespace

bool is_python_command(const std::string& name) { return fs::path(name).filename().string().starts_with("python"); }

void PythonProgram::read_process(int64_t process) {
    std::error_code error;
    folder = fs::read_symlink(fmt::format("/proc/{}/cwd", process), error).string();
    command = read_texts(fmt::format("/proc/{}/cmdline", process));
    jit.clear();
    for (const std::string& one : read_texts(fmt::format("/proc/{}/environ", process)))
        if (one.starts_with("PYTHON_JIT="))
            jit = one.substr(one.find('=') + 1);
}

std::vector<std::string> python_files(const PythonProgram& program, const std::string& pattern) {
    std::set<std::string> found;
    const auto add = [&](const std::string& path) {
        if (is_python_file(pattern, path))
            found.insert(path);
    };
    std::error_code error;
    if (const fs::path named = absolute_in(program.folder, pattern); fs::is_regular_file(named, error))
        found.insert(named.string());
    // A script with `#!` often has no `.py` in its name.
    if (const fs::path script = absolute_in(program.folder, script_in(program.command));
        fs::is_regular_file(script, error))
        add(script.string());
    visit_files(own_folder(program), most_files, add);
    if (found.empty())
        for (const fs::path& folder : library_folders(program))
            visit_files(folder, most_files, add);
    return {found.begin(), found.end()};
}

} // namespace sonde

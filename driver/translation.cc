// Pass 1 collects texts from four sources: the built-in library, the folders of -I, the script, and -E. With --relink,
// a plan has kept the texts of the last three.
//
// The library has hundreds of functions, and a script needs only a few. So its files are only indexed by the names that
// they declare. The build has made this index for the built-in files. The library parses a file when pass 2 first looks
// up one of its names. Macros are the exception: they must be known before any text is parsed.
#include "driver/translation.h"

#include <sys/utsname.h>
#include <unistd.h>
#include <wordexp.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/btf.h>

#include "base/btf_file.h"
#include "base/elf_file.h"
#include "base/fd.h"
#include "base/glob.h"
#include "base/terminal_text.h"
#include "base/trusted_file.h"
#include "driver/dump_when.h"
#include "driver/tools.h"
#include "runtime/attach/attach.h"
#include "runtime/containers/groups.h"
#include "runtime/kernel/features.h"
#include "runtime/text/messages.h"
#include "stdlib/stdlib.h"

namespace sonde {
namespace {

// Returns the program of -c (the first word), for `process` without an argument.
std::string command_program(const std::string& command) {
    size_t begin = command.find_first_not_of(" \t");
    if (begin == std::string::npos)
        return "";
    std::string word = command.substr(begin, command.find_first_of(" \t", begin) - begin);
    Result<std::string> path = find_in_path(word);
    std::error_code ignored;
    std::string out = path.ok() ? *path : word;
    return out.find('/') == std::string::npos ? out : std::filesystem::absolute(out, ignored).string();
}

// Returns the words of -c, for facts about how the program is started. Returns nothing if only a shell can split them.
std::vector<std::string> command_words(const std::string& command) {
    wordexp_t words{};
    if (command.find_first_of("|;&<>(){}#\n`") != std::string::npos ||
        wordexp(command.c_str(), &words, WRDE_NOCMD | WRDE_UNDEF) != 0)
        return {};
    std::vector<std::string> out(words.we_wordv, words.we_wordv + words.we_wordc);
    wordfree(&words);
    return out;
}

// Adds a file of the library. Scripts are parsed only when a script uses one of their names; macros (.stpm) are loaded
// now, because they are known everywhere.
void add_library_file(Translation& t, const std::string& name, std::string text,
                      std::optional<Library::Names> declared = {}) {
    FileId file = t.sources.add(name, std::move(text), true);
    t.library_files++;
    if (name.ends_with(".stpm"))
        load_macros(file, t.sources, t.parse_options, t.macros, t.diags);
    else if (declared)
        t.library->add(file, *declared);
    else
        t.library->add(file);
}

void open_library(Translation& t, const Options& options, std::vector<plan::NamedText> files) {
    const std::optional<plan::Origin>& origin = options.driver.origin;
    t.library.emplace(t.sources, [&t](FileId file) {
        // The library is written in the newest language, even if --compatible names an older one. Its conditionals on
        // `systemtap_v` still see the version of the script.
        ParseOptions parse_options = t.parse_options;
        parse_options.privileged = true;
        parse_options.asked_version = std::exchange(parse_options.compatible, systemtap_version);
        ast::File* parsed = parse_file(file, t.sources, parse_options, t.arena, t.diags);
        t.diags.say_held(); // pass 2 needs this file, so its errors count
        return parsed;
    });
    for (const StdlibFile& file : stdlib_files())
        add_library_file(t, std::string(file.name), std::string(file.text),
                         Library::Names{file.functions, file.globals, file.aliases});
    for (plan::NamedText& file : files) {
        t.texts.library.push_back(file);
        add_library_file(t, file.name, std::move(file.text));
    }
    if (origin)
        for (const plan::NamedText& file : origin->library)
            add_library_file(t, file.name, file.text);
}

Result<std::vector<plan::NamedText>> read_library(const Texts& folders) {
    std::vector<plan::NamedText> out;
    for (const std::string& folder : folders) {
        std::error_code error;
        std::vector<std::string> paths;
        for (std::filesystem::recursive_directory_iterator at(folder, error), end; !error && at != end;
             at.increment(error))
            if (at->path().extension() == ".stp" || at->path().extension() == ".stpm")
                paths.push_back(at->path().string());
        if (error == std::errc::not_a_directory)
            warn(fmt::format("-I {}: this is not a folder, so sonde ignores it", folder));
        // Ignore a folder that does not exist, as compilers do.
        if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
            return Error(fmt::format("cannot read the library folder `{}`: {}", folder, error.message()));
        std::sort(paths.begin(), paths.end());
        for (const std::string& path : paths) {
            Result<std::string> text = read_trusted_file(path);
            if (!text)
                return std::move(text).error();
            out.push_back({path, *std::move(text)});
        }
    }
    return out;
}

Result<std::string> read_standard_input() {
    std::string text;
    char buffer[65536];
    for (ssize_t got; (got = read(STDIN_FILENO, buffer, sizeof buffer)) != 0;) {
        if (got < 0)
            return errno_error("cannot read the script from standard input", errno);
        text.append(buffer, static_cast<size_t>(got));
    }
    return text;
}

Error not_a_script(const std::string& program) {
    return Error(fmt::format("`{0}` is a program, not a script: use -c {0} to run it, and `sonde -l "
                             "'process(\"{0}\").function(\"*\")'` to list its probe points",
                             program));
}

// Explains a missing script file, by the most common mistakes.
Error explain_no_file(const std::string& word, Error error) {
    if (word.find('/') == std::string::npos && find_in_path(word).ok())
        return not_a_script(word);
    if (word.find('{') != std::string::npos)
        return Error(fmt::format("`{}` is not a file: write -e before a script in the command line", word));
    const bool is_path = word.find('/') != std::string::npos || word.ends_with(".stp") || word.ends_with(".sonde");
    if (!is_path && word.find_first_of(".:*(") != std::string::npos)
        return Error(fmt::format("`{0}` is no file: `-l '{0}'` lists the probe points of that name, -e SCRIPT runs a "
                                 "script in the command line",
                                 word));
    return error;
}

bool has_script_file(const Options& options) {
    const Translate& translate = options.translate;
    return !translate.has_script && translate.tool.empty() && !options.driver.list && options.driver.why.empty() &&
           !translate.positional.empty();
}

// Reads "2=FORMAT=left={left}", which `--tool-word` has.
void add_word(Sources& sources, FileId file, const std::string& word) {
    const size_t name = word.find('=') + 1, text = word.find('=', name) + 1;
    if (name > 0 && text > 0)
        sources.add_word(file, std::strtoul(word.c_str(), nullptr, 10),
                         {word.substr(name, text - 1 - name), word.substr(text)});
}

// Adds the script (-e, FILE or -) and the -E extras, and sets the script's arguments.
Result<std::vector<FileId>> add_scripts(Translation& t, const Options& options, const UserTexts& texts) {
    const std::optional<plan::Origin>& origin = options.driver.origin;
    std::vector<FileId> ids;
    size_t first_argument = 0;
    if (options.translate.has_script) {
        ids.push_back(t.sources.add("<input>", options.translate.script));
    } else if (!options.translate.tool.empty()) {
        std::string name = fmt::format("<{}>", options.translate.tool);
        ids.push_back(
            t.sources.add(name, origin ? origin->scripts[0].text : std::string(find_tool(options.translate.tool))));
        t.texts.scripts.push_back({name, std::string(t.sources.text(ids[0]))});
        for (const std::string& word : options.driver.words_of_tool)
            add_word(t.sources, ids[0], word);
    } else if (has_script_file(options)) {
        const std::string& path = options.translate.positional[0];
        Result<std::string> text = origin ? Result<std::string>(origin->scripts[0].text) : *texts.script;
        if (!text)
            return std::move(text).error();
        if (text->starts_with("\x7f"
                              "ELF"))
            return not_a_script(path);
        t.texts.scripts.push_back({path, *text});
        ids.push_back(t.sources.add(path == "-" ? "<input>" : path, *std::move(text)));
        first_argument = 1;
    }
    // The first positional word is FILE. With -e or a tool, all of them are arguments.
    t.parse_options.args.assign(options.translate.positional.begin() + static_cast<ptrdiff_t>(first_argument),
                                options.translate.positional.end());
    for (const std::string& extra : options.translate.extras)
        ids.push_back(t.sources.add("<input>", extra));
    return ids;
}

bool is_same_folder(const std::string& a, const std::string& b) {
    std::error_code error;
    return std::filesystem::equivalent(a + "/", b + "/", error);
}

// Finds the root directories of the groups' programs, for probes of `process("NAME")`. Stores the roots in the groups,
// because a saved plan needs them.
Result<std::vector<ProbeEnvironment::GroupFiles>> find_group_files(std::vector<plan::GroupName>& groups) {
    Result<GroupPicture> picture = take_group_picture();
    if (!picture)
        return std::move(picture).error();
    std::vector<ProbeEnvironment::GroupFiles> out;
    for (plan::GroupName& group : groups) {
        std::error_code error;
        // Use the root of one process for all programs of the script, as long as the process exists.
        if (group.root.empty() || !std::filesystem::exists(group.root, error)) {
            Result<std::string> root = root_of_group(*picture, group);
            if (!root)
                return std::move(root).error();
            group.root = *std::move(root);
        }
        const std::string option = fmt::format("{} {}", option_of(group.kind), group.name);
        out.push_back({option, group.root, search_path_at(group.root)});
        // Each container of a pod has its own files.
        const Result<std::vector<std::string>> roots = roots_of_group(*picture, group);
        for (const std::string& root : roots ? *roots : std::vector<std::string>())
            if (!is_same_folder(root, group.root))
                out.push_back({option, root, search_path_at(root)});
    }
    return out;
}

// -r: uses the types, functions and tracepoints of another kernel.
Result<KernelFiles> open_other_kernel(const std::string& given) {
    Result<KernelFiles> found = find_kernel_files(given);
    if (!found)
        return Error(fmt::format("-r {}: {}", given, found.error().message));
    return found;
}

// --sysroot without -r: the kernel of that machine, if it has exactly one.
Result<KernelFiles> open_only_kernel(const std::string& sysroot) {
    const std::vector<std::string> releases = installed_kernels();
    if (releases.size() > 1)
        return Error(fmt::format("--sysroot {} has several kernels: {}; choose one of them with -r", sysroot,
                                 fmt::join(releases, ", ")));
    KernelFiles unknown;
    if (releases.empty())
        return unknown;
    Result<KernelFiles> found = find_kernel_files(releases[0]);
    if (found)
        return found;
    unknown.release = releases[0];
    unknown.why_no_types = found.error().message;
    return unknown;
}

// The architecture of a kernel, by the name of a function that every kernel has. Null if the types do not show it.
const Architecture* architecture_of_kernel(const KernelFiles& kernel) {
    const BtfFile types(kernel.types);
    for (const Architecture* machine : machines())
        if (types.find(fmt::format("{}read", machine->system_calls().function_prefix), BTF_KIND_FUNC) != 0)
            return machine;
    return nullptr;
}

// The architecture of the programs in a sysroot, which is the root directory now, or of its C library. Null if it has
// none of these files.
const Architecture* architecture_of_programs() {
    std::vector<std::string> paths = {"/bin/sh",      "/usr/bin/env",   "/bin/ls",         "/sbin/init",
                                      "/bin/busybox", "/sbin/ldconfig", "/lib64/libc.so.6"};
    for (const Architecture* machine : machines())
        for (const char* folder : {"/lib", "/usr/lib"})
            paths.push_back(fmt::format("{}/{}/libc.so.6", folder, machine->library_search().folder));
    for (const std::string& path : paths)
        if (const Result<ElfFile> file = ElfFile::open_any_machine(path))
            for (const Architecture* machine : machines())
                if (file->runs_on(machine->machine()))
                    return machine;
    return nullptr;
}

// Decides for which architecture the script is: by --arch, by the kernel, and by the programs of the sysroot. They must
// agree.
Result<const Architecture*> choose_architecture(const Options& options, const KernelFiles* kernel) {
    struct Source {
        std::string name;
        const Architecture* architecture;
    };
    std::vector<Source> sources;
    const auto add = [&](std::string name, const Architecture* architecture) {
        if (architecture)
            sources.push_back({std::move(name), architecture});
    };
    const DriverOptions& driver = options.driver;
    if (driver.architecture)
        add(fmt::format("--arch {}", driver.architecture->names()[0]), driver.architecture);
    if (kernel && !kernel->is_unknown())
        add(fmt::format("the kernel `{}`", kernel->path), architecture_of_kernel(*kernel));
    if (!driver.sysroot.empty())
        add(fmt::format("--sysroot {}", driver.sysroot), architecture_of_programs());
    for (const Source& other : sources)
        if (other.architecture != sources[0].architecture)
            return Error(fmt::format("{} is for {}, but {} is for {}", sources[0].name, sources[0].architecture->name(),
                                     other.name, other.architecture->name()));
    if (sources.empty() && !driver.sysroot.empty())
        return Error(fmt::format("--sysroot {}: the folder has neither a shell nor a C library, which would show the "
                                 "architecture; name the architecture with --arch",
                                 driver.sysroot));
    return sources.empty() ? &host_architecture() : sources[0].architecture;
}

// Finds the machine for which the script is: its architecture, and its kernel.
Result<void> open_machine(Translation& t, const Options& options) {
    const DriverOptions& driver = options.driver;
    Result<KernelFiles> kernel = !driver.kernel.empty()    ? open_other_kernel(driver.kernel)
                                 : !driver.sysroot.empty() ? open_only_kernel(driver.sysroot)
                                                           : Result<KernelFiles>(KernelFiles());
    if (!kernel)
        return std::move(kernel).error();
    Result<const Architecture*> architecture = choose_architecture(options, &*kernel);
    if (!architecture)
        return std::move(architecture).error();
    const bool is_foreign = *architecture != &host_architecture();
    t.env.architecture = *architecture;
    t.env.is_elsewhere = is_foreign || !driver.sysroot.empty();
    t.parse_options.arch = (*architecture)->names()[0];
    if (t.env.is_elsewhere) {
        t.env.header_target.triple = (*architecture)->llvm_triple();
        t.env.header_target.root = driver.sysroot;
        if (t.sysroot)
            t.env.header_target.outside = [root = t.sysroot](const std::function<void()>& run) {
                const OutsideSysroot outside(root);
                run();
            };
    }
    if (!t.env.is_elsewhere && driver.kernel.empty()) {
        t.env.kernel_facts = &running_kernel();
        return {};
    }
    t.other_kernel = *std::move(kernel);
    t.env.other_kernel = &*t.other_kernel;
    t.parse_options.kernel_release = t.other_kernel->release;
    // The counters of that machine are unknown. Accept all of them.
    t.env.try_counter = [](const plan::PerfSpec&) { return 0; };
    if (t.other_kernel->is_unknown())
        t.other_facts.why_no_decision = [](plan::ProbeKind, const std::string&) {
            return std::string("it is not known: name it with -r");
        };
    else
        t.other_facts = read_kernel_facts(t.other_kernel->types, (*architecture)->system_calls());
    t.env.kernel_facts = &t.other_facts;
    return {};
}

} // namespace

Result<UserTexts> read_user_texts(const Options& options) {
    UserTexts out;
    if (options.driver.origin)
        return out;
    Result<std::vector<plan::NamedText>> library = read_library(options.translate.folders);
    if (!library)
        return std::move(library).error();
    out.library = *std::move(library);
    if (has_script_file(options)) {
        const std::string& path = options.translate.positional[0];
        out.script = read_script(path);
        if (!*out.script && out.script->error().os_error == ENOENT)
            out.script = explain_no_file(path, out.script->error());
    }
    return out;
}

Result<std::string> read_script(const std::string& path) {
    return path == "-" ? read_standard_input() : read_file(path);
}

bool in_color(const Options& options) {
    return options.driver.color == When::Auto ? is_capable_terminal(STDERR_FILENO)
                                              : options.driver.color == When::Always;
}

Translation::Translation(const Options& options) : in_color_(in_color(options)) {
    utsname system{};
    uname(&system);
    parse_options.kernel_release = system.release;
    parse_options.arch = env.architecture->names()[0];
    if (!options.translate.compatible.empty())
        parse_options.compatible = options.translate.compatible;
    parse_options.guru = options.translate.guru;
    parse_options.privileged = options.translate.guru;
    parse_options.macros = &macros;
    parse_options.kernel_config = [this]() -> const KernelConfig& {
        if (!kernel_config_) {
            // Without a configuration file, every CONFIG_ is undefined.
            Result<KernelConfig> read =
                read_kernel_config(parse_options.kernel_release, !other_kernel, other_kernel ? other_kernel->root : "");
            kernel_config_ = read ? *std::move(read) : KernelConfig();
        }
        return *kernel_config_;
    };
    diags.warnings_off = options.translate.warnings_off;
    diags.warnings_fatal = options.translate.warnings_fatal;
    diags.in_stap_words = options.driver.named_stap;
    env.guru = options.translate.guru;
    env.command_path = command_program(options.translate.target_command);
    env.command_words = command_words(options.translate.target_command);
    env.target_pid = options.session.target_pid;
    env.listing = options.driver.list;
    groups = options.translate.groups;
    if (!groups.empty())
        env.find_group_files = [this] { return find_group_files(groups); };
    if (options.driver.cache == Cache::On && options.driver.sysroot.empty())
        env.kept_texts = [this]() -> KeptTexts* {
            if (!cache_folder_)
                cache_folder_ = CacheFolder::open();
            return *cache_folder_ ? &**cache_folder_ : nullptr;
        };
    env.try_counter = try_counter;
    env.listing_variables = options.driver.list_variables;
    env.listing_addresses = options.driver.verbose[1] > 0;
    if (options.driver.verbose[1] > 1)
        env.on_point = [](const ResolvedPoint& point) {
            if (std::string place = describe_place(point); !place.empty())
                fmt::print(stderr, "{}\n", place);
        };
    env.attach = options.translate.attach;
}

bool Translation::report(const Diagnostics& reported) {
    fmt::print(stderr, "{}", reported.render(in_color_));
    for (const std::string& refused : env.refused_debug_information())
        if (told_refused_.insert(refused).second)
            warn(refused);
    return !reported.has_errors();
}

Result<void> parse(Translation& t, const Options& options, UserTexts texts) {
    if (Result<void> opened = open_machine(t, options); !opened)
        return opened;
    open_library(t, options, std::move(texts.library));
    Result<std::vector<FileId>> scripts = add_scripts(t, options, texts);
    if (!scripts)
        return std::move(scripts).error();
    for (FileId file : *scripts)
        t.files.push_back(parse_file(file, t.sources, t.parse_options, t.arena, t.diags));
    const auto is_empty = [](const ast::File* file) { return file->is_empty(); };
    if (!t.files.empty() && !t.diags.has_errors() && std::ranges::all_of(t.files, is_empty))
        t.diags
            .report(DiagId::Syntax, {scripts->front(), 0, 0},
                    "the script is empty: it contains no probe, function or global")
            .help("a branch of `%( ... %)` that is not taken, and macros alone, are nothing");
    add_dump_conditions(t, options);
    return {};
}

} // namespace sonde

// The problem: `target()` and the filter by process must mean the program that the user named, and not a shell that
// starts it. Whether `sh -c COMMAND` replaces the shell by the program depends on the shell. So sonde avoids the shell
// when it can.
//
// Three cases:
//
// * `ls -l "$HOME"` contains only words, quotes, variables and patterns. sonde expands them with wordexp(3) and
//   executes the program directly.
// * `ls > file` has redirections, so a shell is necessary. sonde runs `exec ls > file`, so the program replaces the
//   shell.
// * `cd /tmp; ls`, pipes and builtins need a shell as the parent. Then target() is the shell, and its children are
//   traced.
//
// A word that the shell would expand differently from wordexp(3) would run another command than the user meant. So
// find_signs() recognizes all characters that only a shell can interpret.
#include "runtime/processes/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/glob.h"
#include "runtime/text/messages.h"

namespace sonde {

namespace {

constexpr std::string_view signs_of_shells = " \t\n|&;<>()$`\\\"'*?[#~=%!{}";

// Words that the shell handles itself (POSIX.1-2017, "Shell Command Language", 2.4 and 2.14), including reserved words.
bool is_builtin(const std::string& word) {
    static constexpr std::string_view words[] = {".",        ":",       "!",        "alias", "bg",    "break", "case",
                                                 "cd",       "command", "continue", "eval",  "exec",  "exit",  "export",
                                                 "fc",       "fg",      "for",      "if",    "jobs",  "local", "read",
                                                 "readonly", "return",  "set",      "shift", "times", "trap",  "type",
                                                 "ulimit",   "umask",   "unalias",  "unset", "until", "wait",  "while"};
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// Restores the default state of signals, because the session blocks and ignores some.
void restore_signals() {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int one : {SIGPIPE, SIGXFSZ})
        signal(one, SIG_DFL);
}

// The arguments of a command that needs no shell. They are created before fork(), because the child must not allocate
// memory: another thread of the session may have held the allocator's lock during fork().
struct PlainCommand {
    explicit PlainCommand(std::vector<std::string> of_command) : words(std::move(of_command)) {
        for (std::string& word : words)
            arguments.push_back(word.data());
        arguments.push_back(nullptr);
    }
    std::vector<std::string> words;
    std::vector<char*> arguments;
};

// Returns the first `$NAME` outside of single quotes that the environment does not contain; "" if it contains all.
std::string undefined_variable(const std::string& command) {
    bool quoted = false, doubly = false;
    for (size_t i = 0; i < command.size(); i++) {
        if (command[i] == '\\' && !quoted) {
            i++;
        } else if (command[i] == '"') {
            doubly = !doubly;
        } else if (command[i] == '\'' && !doubly) {
            quoted = !quoted;
        } else if (command[i] == '$' && !quoted) {
            size_t end = i + 1;
            while (end < command.size() && (isalnum(static_cast<unsigned char>(command[end])) || command[end] == '_'))
                end++;
            std::string name = command.substr(i + 1, end - i - 1);
            if (!name.empty() && !getenv(name.c_str()))
                return name;
        }
    }
    return "";
}

// Characters in a command that need a shell. Quoted characters do not count, except for `$(...)`, `$$` and backquotes
// inside double quotes.
struct ShellSigns {
    bool commands = false;     // several commands: ; | & ( ) newline, $(...), or a comment
    bool redirections = false; // redirections and braces
    bool parameters = false;   // $$, $1 and other parameters of the shell
    bool backquotes = false;
};
ShellSigns find_signs(const std::string& command) {
    constexpr size_t npos = std::string::npos;
    ShellSigns out;
    char quote = 0;
    for (size_t i = 0; i < command.size(); i++) {
        const char c = command[i];
        const char before = i ? command[i - 1] : '\0';
        if (c == '\\' && quote != '\'')
            i++;
        else if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? '\0' : c;
        else if (quote == '\'')
            continue;
        else if (c == '`')
            out.backquotes = true;
        else if (c == '$' && command.compare(i, 2, "$(") == 0)
            out.commands = true;
        else if (c == '$' && i + 1 < command.size() &&
                 std::string_view("$!?#*@-0123456789").find(command[i + 1]) != npos)
            out.parameters = true, i++;
        else if (!quote && std::string_view("|;()\n#").find(c) != std::string_view::npos)
            out.commands = true;
        else if (!quote && c == '&') // 2>&1 is a redirection
            (before == '>' || before == '<' ? out.redirections : out.commands) = true;
        else if (!quote && std::string_view("<>{}").find(c) != std::string_view::npos)
            out.redirections = true;
    }
    return out;
}

// Splits a command into words, with quotes, variables and patterns as in the shell. Returns no words if the command
// needs a shell. Returns an error if the words cannot be expanded, because an empty word would change the command's
// meaning.
Result<std::vector<std::string>> expand_words(const std::string& command, const ShellSigns& signs) {
    std::vector<std::string> out;
    if (signs.commands || signs.redirections || signs.parameters)
        return out;
    wordexp_t words{};
    const int failed = wordexp(command.c_str(), &words, WRDE_NOCMD | WRDE_UNDEF);
    if (failed == 0) {
        out.assign(words.we_wordv, words.we_wordv + words.we_wordc);
        wordfree(&words);
    }
    switch (failed) {
    case WRDE_BADVAL:
        return Error(fmt::format("-c: the environment has no variable `${}`; write `\\$` for a dollar sign",
                                 undefined_variable(command)));
    case WRDE_CMDSUB:
        return Error("-c: sonde does not run commands in backquotes; write `$(COMMAND)`");
    case WRDE_SYNTAX:
        return Error(fmt::format("-c: a quote is not closed in `{}`", command));
    default:
        return out;
    }
}

} // namespace

rlimit allow_many_files() {
    // Each breakpoint needs two descriptors. The kernel refuses limits above fs.nr_open.
    constexpr rlim_t enough = 1 << 18;
    rlimit before{RLIM_INFINITY, RLIM_INFINITY};
    if (getrlimit(RLIMIT_NOFILE, &before) != 0)
        return before;
    const rlimit more{std::max(before.rlim_max, enough), std::max(before.rlim_max, enough)};
    const rlimit allowed{before.rlim_max, before.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &more) != 0) // raising the hard limit requires CAP_SYS_RESOURCE
        setrlimit(RLIMIT_NOFILE, &allowed);
    return before;
}

Result<Command> Command::start(const std::string& command, const rlimit& files) {
    // Look up the program now, so that a wrong name is reported before anything is attached.
    size_t begin = command.find_first_not_of(" \t");
    if (begin == std::string::npos)
        return Error("-c: the command is empty");
    const ShellSigns signs = find_signs(command);
    Result<std::vector<std::string>> words = expand_words(command, signs);
    if (!words)
        return std::move(words).error();
    std::string first = command.substr(begin, command.find_first_of(" \t", begin) - begin);
    std::string program;
    if (!is_builtin(first) && first.find_first_of(signs_of_shells) == std::string::npos) {
        Result<std::string> found = find_in_path(first);
        bool exists = first.find('/') == std::string::npos ? found.ok() : access(first.c_str(), F_OK) == 0;
        if (!exists)
            return errno_error(fmt::format("cannot run {}", first), ENOENT);
        if (!found)
            return std::move(found).error().in(fmt::format("cannot run {}", first));
        program = *found;
    }
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno_error("cannot start the command", errno);
    Fd reader(ends[0]), writer(ends[1]);
    // Make the program the session's child, so that target() is the program: run it without a shell, or let it replace
    // the shell. Exception: the shell's `echo` and `printf` print escapes differently from the programs of these names
    // (`echo 'a\n'`), so these stay in the shell.
    const bool in_shell =
        program.empty() || signs.commands || signs.backquotes ||
        ((first == "echo" || first == "printf") && command.find_first_of("\\\"'") != std::string::npos);
    const PlainCommand plain(in_shell ? std::vector<std::string>() : *std::move(words));
    std::string text = command;
    // Replace a name without a folder by its path. Otherwise the shell would search $PATH again, with failing system
    // calls that show in a trace.
    if (!in_shell && program.find_first_of(signs_of_shells) == std::string::npos)
        text = fmt::format("exec {}{}", first.find('/') == std::string::npos ? program : first,
                           command.substr(begin + first.size()));
    pid_t pid = fork();
    if (pid < 0)
        return errno_error("cannot start the command", errno);
    if (pid == 0) {
        restore_signals();
        setrlimit(RLIMIT_NOFILE, &files);
        close(ends[1]);
        char byte = 0;
        // End of file: the session ended before it released the command.
        if (read(ends[0], &byte, 1) != 1)
            _exit(0);
        // execv() fails for a script without `#!`. Like other programs, let the shell run it.
        if (!plain.words.empty())
            execv(program.c_str(), plain.arguments.data());
        execl("/bin/sh", "sh", "-c", text.c_str(), static_cast<char*>(nullptr));
        _exit(127);
    }
    Command out;
    out.pid_ = pid;
    out.program_ = std::move(program);
    out.gate_ = std::move(writer);
    return out;
}

void Command::release() {
    if (gate_.get() < 0)
        return;
    ssize_t ignored = write(gate_.get(), "x", 1);
    (void)ignored;
    gate_ = Fd();
}

std::optional<int> Command::poll() {
    if (!ended_ && pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_)
        ended_ = true;
    return ended_ ? std::optional(status_) : std::nullopt;
}

void Command::terminate() {
    gate_ = Fd();
    if (pid_ <= 0 || poll())
        return;
    kill(pid_, SIGTERM);
    // Kill a command that still runs two seconds after SIGTERM.
    for (int i = 0; i < 200 && !poll(); i++)
        usleep(10000);
    if (!poll()) {
        kill(pid_, SIGKILL);
        waitpid(pid_, &status_, 0);
        ended_ = true;
    }
}

void run_in_background(const std::string& command) {
    pid_t pid = fork();
    if (pid == 0) {
        // The intermediate child exits at once. So init adopts the command, and sonde need not wait for it.
        if (fork() != 0)
            _exit(0);
        restore_signals();
        execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
        _exit(127);
    }
    if (pid < 0)
        warn(fmt::format("cannot run `{}`: {}", command, std::strerror(errno)), Weight::Answer);
    else
        waitpid(pid, nullptr, 0);
}

} // namespace sonde

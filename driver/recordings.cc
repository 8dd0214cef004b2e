#include "driver/recordings.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fd.h"
#include "base/suggest.h"
#include "driver/option_table.h"
#include "driver/pass.h"
#include "driver/sinks.h"
#include "driver/tools.h"
#include "runtime/engine/control_files.h"
#include "runtime/sinks/recording/replay.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

// Takes `-o FILE` or `-oFILE` out of the words before `--`. Empty: there is none.
std::string take_output(std::vector<std::string>& words) {
    for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
        if (!word->starts_with("-o"))
            continue;
        const bool is_alone = word->size() == 2;
        if (is_alone && word + 1 == words.end())
            return "";
        std::string file = is_alone ? *(word + 1) : word->substr(2);
        words.erase(word, word + (is_alone ? 2 : 1));
        return file;
    }
    return "";
}

// Moves the name of a tool in front of the options before it, where all tools have their names.
void begin_with_tool(std::vector<std::string>& words) {
    for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
        if (!word->starts_with('-')) {
            if (!find_tool(*word).empty())
                std::rotate(words.begin(), word, word + 1);
            return;
        }
        const OptionRow* option = find_option(*word); // null if it has its value in the same word
        if (option && option->takes_next_word() && word + 1 != words.end())
            ++word;
    }
}

// The names of the sessions that `sonde dump` can reach.
std::vector<std::string> dumping_sessions() {
    std::vector<std::string> out;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(control_folder(""), ignored))
        if (access((entry.path() / dump_file).c_str(), W_OK) == 0)
            out.push_back(entry.path().filename().string());
    std::ranges::sort(out);
    return out;
}

std::string why_no_session(const std::string& name) {
    const std::vector<std::string> names = dumping_sessions();
    const std::string nearest = nearest_name(name, names);
    if (names.empty())
        return fmt::format(
            "no session has the name `{}`, and none has a flight recorder and a name: start one by `sonde "
            "record --flight=30s -m {} -o FILE ...`",
            name, name);
    return fmt::format("no session with a flight recorder has the name `{}`; {}", name,
                       nearest.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                                       : fmt::format("did you mean `{}`?", nearest));
}

// sonde dump NAME [REASON]
int dump_session(const std::vector<std::string>& words) {
    if (words.size() < 2 || words.size() > 3 || words[1].starts_with('-')) {
        say_error("sonde dump needs the name of a session: that of its option -m");
        fmt::print(stderr, "{}", describe_subcommand(words[0]));
        return exit_failure;
    }
    const std::string& name = words[1];
    const std::string reason = words.size() > 2 ? words[2] : "sonde dump";
    const std::string path = fmt::format("{}/{}", control_folder(name), dump_file);
    const bool is_name = name.find('/') == std::string::npos;
    Result<Fd> file = is_name ? open_file(path, O_WRONLY) : Result<Fd>(Error("", ENOENT));
    if (!file) {
        say_error(file.error().os_error == ENOENT || file.error().os_error == ENOTDIR
                      ? why_no_session(name)
                      : fmt::format("cannot reach the session `{}`: {}", name, file.error().message));
        return exit_failure;
    }
    if (Result<void> written = write_all(file->get(), reason, path); !written) {
        say_error(fmt::format("the session `{}` does not answer: {}", name, written.error().message));
        return exit_failure;
    }
    // The session reads this request after the first one, so its answer is about this recording.
    const Result<std::string> answer = read_file(path);
    if (!answer && answer.error().os_error == ETIMEDOUT) {
        say(fmt::format("the session `{}` is still writing the recording", name));
        return 0;
    }
    if (!answer || answer->empty() || !answer->ends_with(": " + reason)) {
        say_error(answer ? fmt::format("the session `{}` wrote no recording; its messages have the reason", name)
                         : fmt::format("the session `{}` does not answer: {}", name, answer.error().message));
        return exit_failure;
    }
    fmt::print("{}\n", *answer);
    return 0;
}

} // namespace

std::variant<std::vector<std::string>, int> expand_recording(const std::vector<std::string>& words) {
    std::error_code ignored;
    if (words.empty() || (words[0] != "record" && words[0] != "replay" && words[0] != "dump") ||
        std::filesystem::exists(words[0], ignored))
        return words;
    if (words.size() == 2 && (words[1] == "--help" || words[1] == "-h"))
        return fmt::print("{}", describe_subcommand(words[0])), 0;
    if (words[0] == "dump")
        return dump_session(words);
    const bool records = words[0] == "record";
    std::vector<std::string> rest(words.begin() + 1, words.end());
    const std::string file = records                                         ? take_output(rest)
                             : rest.empty() || rest.front().starts_with('-') ? ""
                                                                             : rest.front();
    if (file.empty()) {
        say_error(records
                      ? "sonde record needs -o FILE: the file to write (`sonde profile -c COMMAND` samples stacks, as "
                        "perf record does)"
                      : "sonde replay needs a recording");
        fmt::print(stderr, "{}", describe_subcommand(words[0]));
        return exit_failure;
    }
    if (!records) {
        rest.front() = "--replay=" + file;
        return rest;
    }
    const bool prints = std::ranges::any_of(rest, [](const std::string& word) { return word.starts_with("--format"); });
    // Before the script's arguments. A tool's name stays the first word.
    std::vector<std::string> options = {"--record=" + file};
    if (!prints)
        options.emplace_back("--format=none");
    begin_with_tool(rest);
    const bool has_tool = !rest.empty() && !rest.front().starts_with('-');
    rest.insert(rest.begin() + has_tool, options.begin(), options.end());
    return rest;
}

bool asks_recording(const Options& options) {
    const Translate& translate = options.translate;
    return translate.has_script || !translate.extras.empty() || !translate.positional.empty() || options.driver.list;
}

int show_recording(const Options& options) {
    set_warnings_off(options.translate.warnings_off);
    const ReplayOptions how{options.session.output, options.session.raw, options.sinks.live_s ? Pace::Live : Pace::Fast,
                            options.driver.only};
    const Result<int> status = replay(options.driver.replay, how, sink_maker(options));
    if (!status)
        return say_error(status.error().message), exit_failure;
    return *status;
}

} // namespace sonde

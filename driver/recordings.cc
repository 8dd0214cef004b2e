#include "driver/recordings.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "driver/option_table.h"
#include "driver/pass.h"
#include "driver/sinks.h"
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

} // namespace

std::variant<std::vector<std::string>, int> expand_recording(const std::vector<std::string>& words) {
    std::error_code ignored;
    if (words.empty() || (words[0] != "record" && words[0] != "replay") || std::filesystem::exists(words[0], ignored))
        return words;
    if (words.size() == 2 && (words[1] == "--help" || words[1] == "-h"))
        return fmt::print("{}", describe_subcommand(words[0])), 0;
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

// Translates the options of staprun and stapbpf by one table for each program. The result is a command line of sonde,
// and the rest of sonde does not know these programs. For example,
//
//     staprun -vo out.txt hello x=3
//     sonde -v -o out.txt -G x=3 hello.sonde
//
// are the same. staprun's programs are kernel modules, and ours are plans. So a name without `.sonde` gets this ending
// unless a file of that name exists.
#include "driver/called_as.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace sonde {
namespace {

// An option of staprun or stapbpf, and its translation.
struct Row {
    char letter;
    bool has_value;
    const char* becomes; // sonde's option, with the same value; empty: sonde ignores it
    const char* refused; // why sonde refuses it; null: sonde accepts it
};

constexpr const char* stays_loaded = "nothing stays loaded without a session: -D runs one in the background";

constexpr Row staprun_rows[] = {
    {'v', false, "-v", nullptr},
    {'V', false, "-V", nullptr},
    {'h', false, "-h", nullptr},
    {'w', false, "-w", nullptr},
    {'u', false, "", nullptr}, // uprobes.ko
    {'c', true, "-c", nullptr},
    {'x', true, "-x", nullptr},
    {'N', true, "--target-namespaces", nullptr},
    {'o', true, "-o", nullptr},
    {'b', true, "-s", nullptr},
    {'C', true, "--color", nullptr},
    {'D', false, "-F", nullptr},
    {'R', false, "", nullptr}, // the module's name in the kernel
    {'S', true, "-S", nullptr},
    {'T', true, "", nullptr}, // the interval of polling; sonde is woken up instead
    {'L', false, "", stays_loaded},
    {'A', false, "", stays_loaded},
    {'d', false, "", "sonde loads nothing that must be deleted: the end of a session removes all its probes"},
    {'M', true, "", "there is no monitor"},
    {'r', true, "", "nothing runs remotely"},
};

constexpr Row stapbpf_rows[] = {
    {'v', false, "-v", nullptr}, {'V', false, "-V", nullptr}, {'h', false, "-h", nullptr},
    {'w', false, "-w", nullptr}, {'o', true, "-o", nullptr},  {'x', true, "-x", nullptr},
};

Result<std::vector<std::string>> translate(const std::string& program, std::span<const Row> rows,
                                           const std::vector<std::string>& words) {
    std::vector<std::string> options, rest;
    bool ends = false; // after `--`
    for (size_t i = 0; i < words.size(); i++) {
        const std::string& word = words[i];
        if (ends || word.size() < 2 || word[0] != '-') {
            rest.push_back(word);
            continue;
        }
        if (word == "--") {
            ends = true;
            continue;
        }
        if (word == "--help" || word == "--version") {
            options.push_back(word);
            continue;
        }
        for (size_t at = 1; at < word.size(); at++) {
            const auto row = std::ranges::find(rows, word[at], &Row::letter);
            if (row == rows.end())
                return Error(fmt::format("{} has no option -{} (see {} --help)", program, word[at], program));
            if (row->refused)
                return Error(fmt::format("{} -{}: {}", program, row->letter, row->refused));
            const std::string_view becomes = row->becomes;
            if (!row->has_value) {
                if (!becomes.empty())
                    options.emplace_back(becomes);
                continue;
            }
            std::string value = word.substr(at + 1);
            if (value.empty() && ++i == words.size())
                return Error(fmt::format("{} -{} needs a value", program, row->letter));
            if (value.empty())
                value = words[i];
            if (becomes.starts_with("--")) { // its value is optional, so it must be in the same word
                options.push_back(fmt::format("{}={}", becomes, value));
            } else if (!becomes.empty()) {
                options.emplace_back(becomes);
                options.push_back(std::move(value));
            }
            break;
        }
    }
    const bool asks = std::ranges::any_of(
        options, [](const std::string& word) { return word == "-V" || word == "-h" || word.starts_with("--"); });
    if (rest.empty())
        return asks ? Result(options)
                    : Error(fmt::format("{} runs a saved plan: {} FILE.sonde (sonde -p4 -m FILE makes one)", program,
                                        program));
    // Module options (NAME=VALUE) set globals.
    for (size_t i = 1; i < rest.size(); i++) {
        options.emplace_back("-G");
        options.push_back(rest[i]);
    }
    options.push_back(rest[0].ends_with(".sonde") || std::filesystem::exists(rest[0]) ? rest[0] : rest[0] + ".sonde");
    if (!options.back().ends_with(".sonde"))
        return Error(fmt::format("`{}` is not a saved plan: {} runs a FILE.sonde that `sonde -p4 -m FILE` has written",
                                 rest[0], program));
    return options;
}

} // namespace

Result<std::vector<std::string>> words_as(const std::string& program, const std::vector<std::string>& words) {
    const std::string name = std::filesystem::path(program).filename();
    if (name == "staprun")
        return translate(name, staprun_rows, words);
    if (name == "stapbpf")
        return translate(name, stapbpf_rows, words);
    return words;
}

} // namespace sonde

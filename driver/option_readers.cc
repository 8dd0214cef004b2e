// A reader gets all values of one option and checks them alone. Conflicts between options are found in
// driver/options.cc, when all values are known. Readers run in the order of the table, not of the command line, so a
// reader must not depend on another option.
//
// A message normally begins with the option as the user wrote it (`given.name`), because an option can have several
// names.
#include "driver/option_readers.h"

#include <string.h>
#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <sstream>

#include <fmt/format.h>

#include "base/label_names.h"
#include "base/suggest.h"
#include "driver/option_messages.h"
#include "driver/tools.h"
#include "frontend/parse/parser.h"
#include "runtime/sinks/http/target.h"
#include "runtime/text/messages.h"

namespace sonde::readers {
namespace {

std::string of_result(const Result<void>& result) { return result ? "" : result.error().message; }

bool is_number(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

std::optional<double> real_number(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    return text.empty() || *end || !std::isfinite(value) ? std::optional<double>() : value;
}

// Checks the name of -D NAME=VALUE and -G NAME=VALUE.
std::string check_name(const Given& given, const std::string& text) {
    const std::string name = text.substr(0, text.find('='));
    const bool good =
        !name.empty() && !isdigit(static_cast<unsigned char>(name[0])) &&
        std::ranges::all_of(name, [](char c) { return c == '_' || isalnum(static_cast<unsigned char>(c)); });
    return good ? "" : fmt::format("{} {}: `{}` is not a name", given.name, text, name);
}

struct LimitRow {
    const char* name;
    uint64_t Limits::* member;
    int64_t least, most;
};
constexpr LimitRow limit_rows[] = {
#define LIMIT(member, initial, name, least, most) {name, &Limits::member, least, most},
#include "options/translate.def"
};

std::string set_limit(Limits& limits, const std::string& define) {
    const size_t equals = define.find('=');
    const std::string name = define.substr(0, equals);
    for (const LimitRow& row : limit_rows) {
        if (name != row.name)
            continue;
        const std::string text = equals == std::string::npos ? "1" : define.substr(equals + 1);
        char* end = nullptr;
        errno = 0;
        const int64_t value = std::strtoll(text.c_str(), &end, 0);
        if (text.empty() || *end || errno || value < row.least || value > row.most)
            return fmt::format("-D {}: `{}` is not a number from {} to {}", name, text, row.least, row.most);
        limits.*row.member = static_cast<uint64_t>(value);
        if (row.member == &Limits::max_backtrace && limits.max_backtrace > most_stack_addresses)
            warn(fmt::format("-D MAXBACKTRACE={}: a stack has at most {} addresses", value, most_stack_addresses));
        return "";
    }
    // Accept unknown names: scripts pass other limits of SystemTap, which have no meaning in sonde. Warn about a name
    // that is probably misspelt.
    std::vector<std::string> names;
    for (const LimitRow& row : limit_rows)
        names.emplace_back(row.name);
    std::string upper = name;
    std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(toupper(c)); });
    if (const std::string near = nearest_name(upper, names); !near.empty())
        warn(fmt::format("-D {}: this limit does not exist and has no effect; did you mean `{}`?", name, near));
    return "";
}

} // namespace

std::string some_text(std::string& member, const Given& given) {
    member = given.value();
    return member.empty() ? fmt::format("{}: it needs a value", given.name) : "";
}

std::string texts(Texts& member, const Given& given) {
    member.insert(member.end(), given.values.begin(), given.values.end());
    return "";
}

std::string some_texts(Texts& member, const Given& given) {
    const bool has_empty = std::ranges::any_of(given.values, [](const std::string& one) { return one.empty(); });
    return has_empty ? fmt::format("{}: it needs a value", given.name) : texts(member, given);
}

std::string read_number(uint64_t& member, const Given& given, uint64_t least, uint64_t most) {
    const std::string& text = given.value();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), member);
    if (!text.empty() && error == std::errc() && end == text.data() + text.size() && member >= least && member <= most)
        return "";
    return fmt::format("{}: `{}` is not a number from {} to {}", given.name, text, least, most);
}

std::string read_seconds(double& member, const Given& given, double least, double most) {
    const std::optional<double> value = real_number(given.value());
    if (!value || *value < least || *value > most)
        return fmt::format("{}: `{}` is not a number of seconds from {} to {}", given.name, given.value(), least, most);
    member = *value;
    return "";
}

std::string seconds_from_zero(std::optional<double>& member, const Given& given) {
    member = real_number(given.value());
    return member && *member >= 0 ? "" : fmt::format("{}: `{}` is not a number of seconds", given.name, given.value());
}

std::string seconds_above_zero(double& member, const Given& given) {
    member = real_number(given.value()).value_or(0);
    return member > 0 ? "" : fmt::format("{}: `{}` is not a number of seconds above 0", given.name, given.value());
}

std::string version(std::string& member, const Given& given) {
    member = given.value();
    const bool is_version = member.find_first_not_of("0123456789.") == std::string::npos;
    if (is_version && strverscmp(member.c_str(), std::string(systemtap_version).c_str()) <= 0)
        return "";
    return fmt::format("{}: `{}` is not a version up to {}", given.name, member, systemtap_version);
}

std::string tool(std::string& member, const Given& given) {
    member = given.value();
    return find_tool(member).empty() ? fmt::format("--tool {}: this tool does not exist", member) : "";
}

std::string module_name(std::string& member, const Given& given) {
    member = given.value();
    const std::string name = member.substr(member.rfind('/') + 1);
    const bool good = !name.empty() && name.size() <= 64 &&
                      std::ranges::all_of(name, [](unsigned char c) { return c == '_' || isalnum(c); });
    return good ? "" : fmt::format("{}: `{}` is not a name of at most 64 letters, digits and _", given.name, member);
}

std::string process(int64_t& member, const Given& given) {
    const std::string wrong = why_no_target(std::string(given.name), given.value());
    if (wrong.empty())
        member = std::strtoll(given.value().c_str(), nullptr, 10);
    return wrong;
}

std::string pass(int& member, const Given& given) {
    const std::string wrong = number(1, 5)(member, given);
    return wrong.empty() || !is_number(given.value())
               ? wrong
               : wrong + "; -p is the last pass that runs, and -x PID traces a process";
}

std::string ring_size(uint64_t& bytes, const Given& given) {
    uint64_t megabytes = 0;
    if (std::string wrong = read_number(megabytes, given, 1, 1024); !wrong.empty())
        return is_number(given.value())
                   ? wrong
                   : wrong + "; -s is the size of the buffer, and a script needs no option: sonde FILE";
    // The size of a ring buffer is a power of two.
    for (bytes = 1 << 20; bytes < megabytes << 20;)
        bytes *= 2;
    return "";
}

std::string overload_limit(std::optional<double>& percent, const Given& given) {
    percent = given.value() == "off" ? std::numeric_limits<double>::infinity() : real_number(given.value());
    return percent && *percent > 0
               ? ""
               : fmt::format("{}: `{}` is neither a percentage nor `off`", given.name, given.value());
}

std::string losses(LossKinds& member, const Given& given) {
    Result<LossKinds> kinds = parse_loss_kinds(given.value());
    if (!kinds)
        return fmt::format("{}: {}", given.name, kinds.error().message);
    member |= *kinds;
    return "";
}

std::string add_globals(Assignments& globals, const Given& given) {
    for (const std::string& one : given.values) {
        const size_t equals = one.find('=');
        if (equals == std::string::npos || equals == 0)
            return fmt::format("{} {}: expected NAME=VALUE", given.name, one);
        if (std::string wrong = check_name(given, one); !wrong.empty())
            return wrong;
        globals.push_back({one.substr(0, equals), one.substr(equals + 1)});
    }
    return "";
}

// stdlib/task.stp reads this global: a process number, or -1 for the host.
std::string set_namespaces(Assignments& globals, const Given& given) {
    const std::string& text = given.value();
    if (text != "host" && (!is_number(text) || std::strtoll(text.c_str(), nullptr, 10) <= 0))
        return fmt::format("{}: `{}` is neither a process nor `host`", given.name, text);
    globals.push_back({"__target_namespaces", text == "host" ? "-1" : text});
    return "";
}

std::string set_limits(Limits& limits, const Given& given) {
    for (const std::string& define : given.values) {
        std::string wrong = check_name(given, define);
        if (wrong.empty())
            wrong = set_limit(limits, define);
        if (!wrong.empty())
            return wrong;
    }
    return "";
}

std::string add_labels(Labels& labels, const Given& given) {
    for (const std::string& one : given.values) {
        const size_t equals = one.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == one.size())
            return fmt::format("{} {}: expected ARRAY=NAME,NAME with a name for each part of the key", given.name, one);
        labels.push_back({one.substr(0, equals), split_label_names(std::string_view(one).substr(equals + 1))});
    }
    return "";
}

std::string add_groups(Groups& groups, plan::GroupKind kind, const Given& given) {
    for (const std::string& name : given.values) {
        if (name.empty())
            return fmt::format("{}: it needs a value", given.name);
        groups.push_back({kind, name, ""});
    }
    return "";
}

std::string set_rotation(OutputFile& output, const Given& given) {
    constexpr uint64_t most = 1 << 20;
    const std::string& text = given.value();
    uint64_t size = 0, files = 0;
    char comma = 0, more = 0;
    const int fields = std::sscanf(text.c_str(), "%lu%c%lu%c", &size, &comma, &files, &more);
    const bool good = fields == 1 || (fields == 3 && comma == ',' && files > 0);
    if (!good || text.find('-') != std::string::npos || size == 0 || size > most || files > most)
        return fmt::format("{} {}: expected SIZE[,N]: the megabytes of a file, and the number of files to keep",
                           given.name, text);
    output.bytes = size << 20;
    output.files = files;
    return "";
}

namespace {

// The letter or word after a number. One of `bytes` and `ns` is 0.
struct LimitUnit {
    std::string_view name;
    uint64_t bytes;
    int64_t ns;
};
constexpr LimitUnit limit_units[] = {{"K", 1 << 10, 0},       {"M", 1 << 20, 0},        {"G", 1 << 30, 0},
                                     {"s", 0, 1'000'000'000}, {"m", 0, 60'000'000'000}, {"h", 0, 3'600'000'000'000}};
constexpr uint64_t most_limit_bytes = 64ull << 30;
constexpr int64_t most_limit_ns = 24 * 3'600'000'000'000;

// Reads 64M or 30s. Returns false if the text is neither, or is too large.
bool read_limit(std::string_view text, FlightLimit& limit) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    std::string_view rest(end, text.data() + text.size());
    if (rest.size() > 1 && rest.ends_with('B'))
        rest.remove_suffix(1);
    const auto unit = std::ranges::find(limit_units, rest, &LimitUnit::name);
    if (error != std::errc() || unit == std::end(limit_units) || number == 0)
        return false;
    if (unit->bytes) {
        limit.bytes = number * unit->bytes;
        return number <= most_limit_bytes / unit->bytes;
    }
    limit.ns = static_cast<int64_t>(number) * unit->ns;
    return number <= static_cast<uint64_t>(most_limit_ns / unit->ns);
}

} // namespace

// 64M, 30s, or both: 30s,256M
std::string flight_limit(FlightLimit& limit, const Given& given) {
    const std::string& text = given.value();
    limit = {};
    limit.is_wanted = true;
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view first = std::string_view(text).substr(0, comma);
    const bool has_both = comma < text.size();
    FlightLimit second = limit;
    const bool good =
        read_limit(first, limit) &&
        (!has_both || (limit.ns != INT64_MAX && read_limit(std::string_view(text).substr(comma + 1), second) &&
                       second.ns == INT64_MAX));
    if (has_both)
        limit.bytes = second.bytes;
    return good ? ""
                : fmt::format("{} {}: expected a size up to 64G, such as 64M, a time up to 24h, such as 30s or 5m, or "
                              "both: 30s,256M",
                              given.name, text);
}

std::string byte_size(uint64_t& bytes, const Given& given) {
    FlightLimit limit;
    limit.bytes = 0;
    if (!read_limit(given.value(), limit) || limit.bytes == 0)
        return fmt::format("{} {}: expected a size up to 64G, such as 500M or 2G", given.name, given.value());
    bytes = limit.bytes;
    return "";
}

std::string set_output_buffer(OutputFile& output, const Given& given) {
    uint64_t megabytes = 0;
    std::string wrong = read_number(megabytes, given, 1, 65536);
    if (wrong.empty())
        output.buffer_bytes = megabytes << 20;
    return wrong;
}

std::string add_pictures(Pictures& pictures, PictureRequest::Kind kind, const Given& given) {
    for (const std::string& value : given.values) {
        Result<PictureRequest> request = parse_picture(kind, value);
        if (!request)
            return request.error().message;
        pictures.push_back(*std::move(request));
    }
    return "";
}

std::string set_metrics(MetricsRequest& metrics, const Given& given) {
    Result<MetricsRequest> request = parse_metrics_address(given.value());
    if (!request)
        return request.error().message;
    metrics.host = request->host;
    metrics.port = request->port;
    return "";
}

std::string set_metrics_files(MetricsRequest& metrics, const Given& given) {
    return of_result(set_metrics_tls(metrics, given.value()));
}

std::string set_series(SinkOptions& sinks, const Given& given) {
    std::string wrong = number(1, 10'000'000)(sinks.metrics.series, given);
    sinks.otlp.series = sinks.metrics.series;
    return wrong;
}

std::string set_otlp(OtlpRequest& otlp, const Given& given) {
    Result<HttpTarget> target = parse_http_target(given.value(), otlp_option);
    if (!target)
        return target.error().message;
    otlp.target = *std::move(target);
    return "";
}

std::string set_signals(OtlpRequest& otlp, const Given& given) {
    constexpr const char* expected = "expected metrics, logs or traces, or several of these with commas between them";
    bool wanted[otlp_signal_count] = {};
    std::istringstream all(given.value());
    size_t count = 0;
    for (std::string name; std::getline(all, name, ','); count++) {
        const auto* facts =
            std::ranges::find_if(otlp_signals, [&](const OtlpSignalFacts& one) { return name == one.name; });
        if (facts == std::end(otlp_signals))
            return fmt::format("{} {}: sonde cannot push `{}`; {}", given.name, given.value(), name, expected);
        wanted[facts - otlp_signals] = true;
    }
    if (count == 0)
        return fmt::format("{}: {}", given.name, expected);
    std::ranges::copy(wanted, otlp.has_signal);
    return "";
}

std::string add_headers(HttpSettings& settings, const Given& given) {
    for (const std::string& text : given.values) {
        Result<HttpHeader> header = parse_http_header(text, std::string(given.name));
        if (!header)
            return header.error().message;
        settings.headers.push_back(*std::move(header));
    }
    return "";
}

std::string set_authorities(SinkOptions& sinks, const Given& given) {
    sinks.pprof_push.ca_file = given.value();
    return some_text(sinks.otlp.settings.ca_file, given);
}

std::string add_verbosity(Verbosity& verbose, const Given& given) {
    for (int& one : verbose)
        one += static_cast<int>(given.count);
    return "";
}

std::string add_verbosity_digits(Verbosity& verbose, const Given& given) {
    for (const std::string& digits : given.values) {
        if (!is_number(digits) || digits.size() > verbose.size())
            return fmt::format("{} {}: expected up to five digits, one for each pass", given.name, digits);
        for (size_t i = 0; i < digits.size(); i++)
            verbose[i] += digits[i] - '0';
    }
    return "";
}

std::string check_choice(const Given& given) {
    std::string ignored;
    return choice(ignored, given);
}

std::string check_download(const Given& given) {
    std::vector<std::string> choices = {"yes", "no", "ask", "always"};
    for (const std::string& value : given.values)
        if (!is_number(value) && std::ranges::find(choices, value) == choices.end()) {
            choices.emplace_back("SECONDS");
            return none_of(given.name, value, choices);
        }
    return "";
}

std::string architecture(const Architecture*& member, const Given& given) {
    std::vector<std::string> names;
    for (const Architecture* machine : machines())
        names.insert(names.end(), machine->names().begin(), machine->names().end());
    member = find_machine(given.value());
    return member ? "" : none_of(given.name, given.value(), names);
}

std::string check_privilege(const Given& given) {
    std::string wrong = check_choice(given);
    if (wrong.empty() && given.value() != "stapdev")
        wrong = fmt::format("{}={}: loading BPF programs requires CAP_BPF and CAP_PERFMON; sonde has no lower level",
                            given.name, given.value());
    return wrong;
}

std::string limit_resource(int resource, const Given& given) {
    uint64_t value = 0;
    if (std::string wrong = read_number(value, given, 0, UINT64_MAX); !wrong.empty())
        return wrong;
    const rlimit limit{value, value};
    if (setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0)
        return "";
    return fmt::format("{}: cannot set the resource limit {}: {}", given.name, value, strerror(errno));
}

std::string refuse(const Given& given, const char* why) { return fmt::format("{}: {}", given.name, why); }

} // namespace sonde::readers

// Readers: a reader stores the value of an option in a member. It returns an error message, or "". The rows of
// options/*.def name the readers. For example, the row
//
//     OPTION(uint64_t, ring_bytes, 16 << 20, "-s", "MEGABYTES", ring_size, Session, "Set the size ...")
//
// calls ring_size(options.translate.ring_bytes, given). A reader with parameters is an object: `number(0, 1000)`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "arch/architecture.h"
#include "driver/option_table.h"
#include "options/translate.h"
#include "runtime/sinks/metrics/otlp_request.h"
#include "runtime/sinks/metrics/request.h"
#include "runtime/sinks/pictures/request.h"
#include "runtime/sinks/recording/event_filter.h"
#include "runtime/text/output.h"

namespace sonde::readers {

// ---- for members of a common type

inline std::string flag(bool& member, const Given&) {
    member = true;
    return "";
}
inline std::string text(std::string& member, const Given& given) {
    member = given.value();
    return "";
}
// Rejects an empty value.
std::string some_text(std::string& member, const Given& given);
std::string texts(Texts& member, const Given& given);
std::string some_texts(Texts& member, const Given& given);
// Accepts the choices in the row's argument. The value of an enumeration or a bool is the position of the choice, so
// the enumerators must have the same order.
template <typename T> std::string choice(T& member, const Given& given) {
    const std::vector<std::string> choices = OptionRow::choices_of(given.argument);
    for (size_t i = 0; i < choices.size(); i++)
        if (given.value() == choices[i]) {
            if constexpr (std::is_same_v<T, std::string>)
                member = given.value();
            else
                member = static_cast<T>(i);
            return "";
        }
    return none_of(given.name, given.value(), choices);
}
// For a flag that stands for a certain value.
template <typename T> std::string set(T& member, std::type_identity_t<T> value, const Given&) {
    member = value;
    return "";
}
// Accepts an option and ignores it.
inline std::string nothing(const Given&) { return ""; }

// The range is inclusive.
std::string read_number(uint64_t& member, const Given& given, uint64_t least, uint64_t most);
// Reads a whole number in a range.
struct number {
    uint64_t least, most;
    number(uint64_t least, uint64_t most) : least(least), most(most) {}
    template <typename T> std::string operator()(T& member, const Given& given) const {
        uint64_t value = 0;
        std::string wrong = read_number(value, given, least, most);
        if (wrong.empty())
            member = static_cast<T>(value);
        return wrong;
    }
};

std::string read_seconds(double& member, const Given& given, double least, double most);
// Reads a number of seconds in a range.
struct seconds {
    double least, most;
    seconds(double least, double most) : least(least), most(most) {}
    template <typename T> std::string operator()(T& member, const Given& given) const {
        double value = 0;
        std::string wrong = read_seconds(value, given, least, most);
        if (wrong.empty())
            member = value;
        return wrong;
    }
};
std::string seconds_from_zero(std::optional<double>& member, const Given& given);
std::string seconds_above_zero(double& member, const Given& given);

// ---- for single options

std::string version(std::string& member, const Given& given);
std::string architecture(const Architecture*& member, const Given& given);
std::string tool(std::string& member, const Given& given);
std::string module_name(std::string& member, const Given& given);
std::string process(int64_t& member, const Given& given);
std::string pass(int& member, const Given& given);
std::string ring_size(uint64_t& bytes, const Given& given);
std::string overload_limit(std::optional<double>& percent, const Given& given);
std::string losses(LossKinds& member, const Given& given);
std::string point_in_time(std::optional<PointInTime>& member, const Given& given);

std::string add_globals(Assignments& globals, const Given& given);
std::string set_namespaces(Assignments& globals, const Given& given);
std::string set_limits(Limits& limits, const Given& given);
std::string add_labels(Labels& labels, const Given& given);
std::string add_groups(Groups& groups, plan::GroupKind kind, const Given& given);
std::string set_rotation(OutputFile& output, const Given& given);
std::string flight_limit(FlightLimit& limit, const Given& given);
std::string byte_size(uint64_t& bytes, const Given& given);
std::string set_output_buffer(OutputFile& output, const Given& given);
std::string add_pictures(Pictures& pictures, PictureRequest::Kind kind, const Given& given);
std::string set_metrics(MetricsRequest& metrics, const Given& given);
std::string set_metrics_files(MetricsRequest& metrics, const Given& given);
std::string set_series(SinkOptions& sinks, const Given& given);
std::string set_otlp(OtlpRequest& otlp, const Given& given);
std::string set_signals(OtlpRequest& otlp, const Given& given);
std::string add_headers(HttpSettings& settings, const Given& given);
std::string set_authorities(SinkOptions& sinks, const Given& given);
std::string add_verbosity(Verbosity& verbose, const Given& given);
std::string add_verbosity_digits(Verbosity& verbose, const Given& given);

// ---- options that check only

std::string check_choice(const Given& given);
std::string check_download(const Given& given);
std::string check_privilege(const Given& given);
std::string limit_resource(int resource, const Given& given);
// Rejects the option, with the reason.
std::string refuse(const Given& given, const char* why);

} // namespace sonde::readers

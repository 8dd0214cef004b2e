// The command line as one value of four parts: `translate` decides the meaning of a script, `session` how its plan
// runs, `sinks` the outputs of the events, and `driver` the passes and listings. A pass gets a whole part, never single
// options.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "arch/architecture.h"
#include "base/result.h"
#include "options/translate.h"
#include "runtime/engine/session_options.h"
#include "runtime/plan/plan.h"
#include "runtime/sinks/metrics/otlp_request.h"
#include "runtime/sinks/metrics/request.h"
#include "runtime/sinks/pictures/request.h"
#include "runtime/sinks/recording/event_filter.h"
#include "runtime/sinks/recording/flight.h"

namespace sonde {

enum class When : uint8_t { Never, Always, Auto };
// Poison: sonde writes entries, but does not read them.
enum class Cache : uint8_t { On, Poison, Off };
enum class Inventory : uint8_t { None, Functions, Aliases, ProbeTypes };
// A command line can contain one of these requests instead of a script.
enum class Question : uint8_t { Nothing, Help, Version, CleanCache };
using Verbosity = std::array<int, 5>;

using Pictures = std::vector<PictureRequest>;

// Options of the sinks that driver/sinks.h creates (options/sinks.def).
struct SinkOptions {
#define VALUE(type, member, initial) type member = initial;
#define OPTION(type, member, initial, ...) type member = initial;
#include "options/sinks.def"

    bool wants(PictureRequest::Kind kind) const {
        return std::ranges::any_of(pictures, [kind](const PictureRequest& one) { return one.kind == kind; });
    }
};

// Options that only the command line itself needs (options/driver.def).
struct DriverOptions {
#define VALUE(type, member, initial) type member = initial;
#define OPTION(type, member, initial, ...) type member = initial;
#include "options/driver.def"
};

struct Options {
    Translate translate;
    SessionOptions session;
    SinkOptions sinks;
    DriverOptions driver;

    // Whether a session begins after the translation.
    bool runs() const {
        return driver.last_pass == 5 && driver.dump.empty() && !driver.list && driver.why.empty() &&
               driver.inventory == Inventory::None;
    }
    // Whether the options name another machine than this one (--arch, --sysroot). A kernel of another architecture (-r)
    // also does so, but that is known only after reading it.
    bool name_other_machine() const {
        return !driver.sysroot.empty() || (driver.architecture && driver.architecture != &host_architecture());
    }
};

// Reads the command line, after the words of $SYSTEMTAP_DIR/rc (default ~/.systemtap/rc) as stap(1) describes it.
// Returns an exit status instead if nothing remains to be done (help, version) or if the words are wrong. In the latter
// case it prints an error message.
std::variant<Options, int> read_command_line(int argc, char** argv);

// Returns the error message for a saved plan that needs a target but has none.
std::string why_no_session_without_target(const std::string& plan);

} // namespace sonde

// The inputs of a session besides its plan: options, and hooks of its caller.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/sinks/sink.h"
#include "runtime/text/accounting.h"
#include "runtime/text/output.h"
#include "runtime/values/recorded_events.h"

namespace sonde {

// Options that decide how a session runs a plan (options/session.def).
struct SessionOptions {
#define VALUE(type, member, initial) type member = initial;
#define OPTION(type, member, initial, ...) type member = initial;
#include "options/session.def"

    bool has_target() const { return !command.empty() || target_pid != 0; }
};

// Facts of the translation about points without hits. A null function: unknown.
struct UnhitFacts {
    // Returns the number of inlined copies of the point's function that the probe does not cover.
    std::function<uint64_t(const plan::Point&)> inlined_copies;
    // Returns a name of the program that is similar to the point's, as a question; "" if there is none.
    std::function<std::string(const plan::Point&)> similar_name;
};

// Facts that a session needs from its caller, and events that it reports to its caller.
struct SessionHooks {
    SinkMaker make_sinks = [](SessionData&, Output&) { return Sinks(); }; // creates the consumers of events
    RecordedEvents* events = nullptr; // the script is for these events; null: a session of the running system
    std::string saved_as;             // name of the saved plan; empty: the plan was just compiled
    bool is_sample = false;           // the session only counts hits: do not explain points without hits
    // The script's points are alternatives for one kind of event. Do not warn if some of them were never hit, but warn
    // if none was hit.
    bool several_ways = false;
    UnhitFacts unhit;
    // Called once, when every probe is armed.
    std::function<void()> armed = [] {};
    // Called at least once a second while the session makes progress. A watchdog can use it.
    std::function<void()> turned = [] {};
    // Called when SIGHUP ends the session.
    std::function<void()> hung_up = [] {};
};

} // namespace sonde

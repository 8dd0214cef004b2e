// Decides which instructions are safe to probe on the running kernel.
//
// The plan stores a hazard class for each probed instruction (arch/instruction_hazards.h). Some classes are wrong on
// all kernels. Others depend on the kernel's version and patches. Those are tried out, once for each class that occurs
// in the plan: try_hazards() executes samples in a child process, with and without a probe, and compares the results.
//
// A probe on an unsafe instruction would change the result of the traced program. That must never happen silently. So
// if the script names such a point, the session does not begin. If the point is one of many that a pattern matches, the
// others are probed, and a warning gives the numbers.
#include "runtime/attach/sound_places.h"

#include <algorithm>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/glob.h"
#include "runtime/attach/instruction_trial.h"
#include "runtime/plan/kinds.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

std::string to_hex(const std::string& bytes, size_t most) {
    std::string out;
    for (unsigned char byte : bytes.substr(0, most))
        out += fmt::format("{}{:02x}", out.empty() ? "" : " ", byte);
    return out;
}

bool is_refused(const plan::ProbedCode& code) { return traits_of(code.hazard).effect == HazardEffect::Refused; }

std::string explain(const plan::Point& point, const plan::ProbedCode& code) {
    constexpr size_t shown = 8;
    std::string out =
        fmt::format("cannot attach to {}: {}\n  the instruction there ({}{}) {}", point.pp,
                    is_refused(code) ? "the kernel cannot probe the instruction there"
                                     : "a probe would change what the program does",
                    to_hex(code.bytes, shown), code.bytes.size() > shown ? " ..." : "", traits_of(code.hazard).text);
    if (code.nearest)
        out += fmt::format("\n  the nearest instruction that can be probed: process(\"{}\").statement({:#x}).absolute",
                           point.path, code.nearest);
    return out;
}

// Counts the points of one pattern of the script, for one warning instead of many.
struct Group {
    size_t points = 0, refused = 0;
    const plan::Point* first = nullptr; // the first one that was refused
    const plan::ProbedCode* why = nullptr;
};

void warn_of(const std::string& written, const Group& group) {
    const std::string first =
        fmt::format("{}, where the instruction {}", group.first->pp, traits_of(group.why->hazard).text);
    warn(fmt::format("{} of {} points of `{}` {} not probed, because {}: {}{}", group.refused, group.points, written,
                     group.refused == 1 ? "is" : "are",
                     is_refused(*group.why) ? "the kernel cannot probe the instruction there"
                                            : "a probe would change what the program does",
                     first, group.refused > 1 ? ", and others" : ""),
         Weight::Answer);
}

} // namespace

// Tests only the classes that occur in the plan. So most sessions run no test at all.
Result<SoundPlaces> SoundPlaces::find(const plan::Plan& plan) {
    std::set<Hazard> wanted;
    for (const plan::ProbedFile& file : plan.files)
        for (const plan::ProbedCode& code : file.code)
            if (is_tried_out(code.hazard) && code.hazard != Hazard::None)
                wanted.insert(code.hazard);
    const std::set<Hazard> wrong = try_hazards(wanted);
    SoundPlaces out;
    for (const plan::ProbedFile& file : plan.files)
        for (const plan::ProbedCode& code : file.code)
            if (!is_tried_out(code.hazard) || wrong.contains(code.hazard))
                out.unsound_[{file.path, code.offset}] = &code;
    if (Result<void> reported = out.report(plan); !reported)
        return std::move(reported).error();
    return out;
}

const plan::ProbedCode* SoundPlaces::unsound_at(const std::string& path, uint64_t offset) const {
    auto found = unsound_.find({path, offset});
    return found == unsound_.end() ? nullptr : found->second;
}

std::optional<uint64_t> SoundPlaces::place_of(const std::string& path, uint64_t offset) const {
    const plan::ProbedCode* code = unsound_at(path, offset);
    if (!code)
        return offset;
    return code->instead ? std::optional(code->instead) : std::nullopt;
}

const plan::ProbedCode* SoundPlaces::why_not(const plan::Probe& probe, const plan::Point& point) const {
    if (!place_of(point.path, point.offset))
        return unsound_at(point.path, point.offset);
    if (!probe.entry_program.empty() && !place_of(point.path, point.entry_offset))
        return unsound_at(point.path, point.entry_offset);
    return nullptr;
}

bool SoundPlaces::can_attach(const plan::Probe& probe, const plan::Point& point) const {
    return !why_not(probe, point);
}

// Groups the points by the pattern in the script, because whether a refused point is an error depends on the other
// points of the pattern.
Result<void> SoundPlaces::report(const plan::Plan& plan) const {
    if (unsound_.empty())
        return {};
    std::map<std::pair<std::string, std::string>, Group> groups; // by the probe's place, and the point as written
    size_t left = 0;
    for (const plan::Probe& probe : plan.probes)
        for (const plan::Point& point : probe.points) {
            if (!plan::is_uprobe(probe.kind))
                continue;
            Group& group = groups[{probe.place, point.pn}];
            group.points++;
            const plan::ProbedCode* why = why_not(probe, point);
            left += why ? 0 : 1;
            if (why && group.refused++ == 0) {
                group.first = &point;
                group.why = why;
            }
        }
    for (const auto& [key, group] : groups) {
        if (group.refused == 0)
            continue;
        // Points that the kernel would refuse are an error only if no point of the whole plan is left. Points where a
        // probe would change the program are an error if the script names the point itself.
        const bool is_pattern = has_wildcard(key.second) || key.second.ends_with(".plt") ||
                                key.second.ends_with(".plt.return"); // without a name, `.plt` means all entries
        const bool named = !is_pattern || group.refused == group.points;
        if (is_refused(*group.why) ? left == 0 : named)
            return Error(explain(*group.first, *group.why));
        warn_of(key.second, group);
    }
    return {};
}

} // namespace sonde

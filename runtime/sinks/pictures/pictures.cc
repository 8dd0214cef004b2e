#include "runtime/sinks/pictures/pictures.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/suggest.h"
#include "runtime/sinks/http/patient_post.h"
#include "runtime/sinks/pictures/flame_files.h"
#include "runtime/sinks/pictures/pprof.h"
#include "runtime/text/messages.h"
#include "runtime/values/array_values.h"

namespace sonde {
namespace {

constexpr int64_t push_patience_ns = 30'000'000'000;

bool has_stack(const plan::Global& global) {
    return std::any_of(global.keys.begin(), global.keys.end(), [](const auto& key) { return is_stack(key.role); });
}

FrameKind kind_of(const Frame& frame) {
    return frame.language       ? FrameKind::Interpreted
           : frame.is_kernel    ? FrameKind::Kernel
           : frame.is_inlined   ? FrameKind::Inlined
           : frame.file.empty() ? FrameKind::Unknown
                                : FrameKind::User;
}

// Other components of the key become labels below the stack. Processes do not, because the processes of one program
// share their stacks.
FlameStack stack_of(const plan::Plan& plan, Symbolizer& symbols, const ProcessNumbers& numbers,
                    const plan::Global& global, const ArrayElement& element) {
    FlameStack out;
    const std::vector<KeyValue> key = key_values(plan, global, element);
    for (size_t i = 0; i < key.size(); i++)
        if (global.keys[i].role == plan::KeyRole::Plain)
            out.frames.push_back(
                {key[i].is_text ? key[i].text : fmt::format("{}={}", name_of_key(global, i), key[i].number),
                 FrameKind::Label});
    // The kernel's part stands on the user's part, since the user's code has called the kernel.
    for (const plan::KeyRole role : {plan::KeyRole::UserStack, plan::KeyRole::KernelStack})
        for (size_t i = 0; i < key.size(); i++) {
            if (global.keys[i].role != role)
                continue;
            const std::vector<Frame> frames = frames_of(symbols, process_of(global, key, numbers), key[i]);
            for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
                out.frames.push_back({frame_name(*frame), kind_of(*frame)});
        }
    return out;
}

// The weight of a statistic is the sum of its values: time, bytes, or a count if all values are 1.
int64_t weight_of(const plan::Global& global, const ArrayElement& element) {
    if (global.type == plan::Value::Stats)
        return statistic_of(global.stats, element.payload.data()).block.sum;
    int64_t number = 0;
    std::memcpy(&number, element.payload.data(), sizeof number);
    return number;
}

} // namespace

// A `=` after the first slash belongs to the file's name, not to `GLOBAL=`:
//
//     reads.svg               the only suitable global
//     n=reads.svg             the global n
//     /tmp/a=b/reads.svg      the only suitable global
//     http://host:4040        only for --pprof: pushed, not written
Result<PictureRequest> parse_picture(PictureRequest::Kind kind, const std::string& text) {
    const PictureKind& facts = facts_of(kind);
    PictureRequest out;
    out.kind = kind;
    const size_t equals = text.find('=');
    const bool names = facts.of_global && equals != std::string::npos && text.find('/') > equals;
    out.global = names ? text.substr(0, equals) : "";
    out.file = names ? text.substr(equals + 1) : text;
    if (out.file.empty())
        return Error(fmt::format("`{}` does not name a file: {}", text, facts.help));
    if (kind == PictureRequest::Pprof && out.file.find("://") != std::string::npos) {
        Result<HttpTarget> target = parse_http_target(out.file, pprof_option);
        if (!target)
            return std::move(target).error();
        out.target = *std::move(target);
        return out;
    }
    std::vector<std::string> endings;
    for (std::istringstream all(facts.endings); all >> endings.emplace_back();) {
    }
    endings.pop_back();
    const bool fits = std::ranges::any_of(endings, [&](const std::string& ending) {
        return ending == "-" ? out.file == ending : out.file.ends_with(ending);
    });
    if (!endings.empty() && !fits) {
        const bool on_terminal = endings.back() == "-";
        const auto last = endings.end() - 1 - on_terminal;
        return Error(fmt::format("`{}`: {} needs a file that ends in {} or {}{}", out.file, facts.noun,
                                 fmt::join(endings.begin(), last, ", "), *last,
                                 on_terminal ? ", or - for the terminal" : ""));
    }
    return out;
}

namespace {

// The requirements of a kind of picture, and the phrases for error messages.
struct Subject {
    bool (*fits)(const plan::Global& global); // whether the global is suitable
    const char* one;                          // "`x` is not ONE"
    const char* have;                         // "which one? a, b HAVE"
    const char* none;                         // if no global is suitable: the message, with advice
};
const Subject& subject_of(PictureRequest::Kind kind) {
    static constexpr Subject stacks{
        [](const plan::Global& global) { return has_stack(global) && global.type != plan::Value::String; },
        "an array of the script with a stack in its keys", "have stacks in their keys",
        "no array of the script has a stack in its keys; count by a stack, `n[ubacktrace()]++` or `n[backtrace(), "
        "ubacktrace()] <<< time`"};
    static constexpr Subject statistics{[](const plan::Global& global) { return global.type == plan::Value::Stats; },
                                        "a statistic of the script", "are statistics",
                                        "the script has no statistic; add values to a statistic, `s <<< value`"};
    return kind == PictureRequest::Heatmap ? statistics : stacks;
}

} // namespace

// With a name, the global must be suitable. Without a name, exactly one suitable global must exist.
Result<size_t> find_pictured(const plan::Plan& plan, const PictureRequest& request) {
    const char* option = facts_of(request.kind).option;
    const Subject& subject = subject_of(request.kind);
    std::vector<std::string> names;
    size_t last = 0;
    for (size_t i = 0; i < plan.globals.size(); i++) {
        const plan::Global& global = plan.globals[i];
        if (!subject.fits(global))
            continue;
        if (global.name == request.global)
            return i;
        names.push_back(global.name);
        last = i;
    }
    if (names.empty())
        return Error(fmt::format("{}: {}", option, subject.none));
    if (!request.global.empty()) {
        const std::string near = nearest_name(request.global, names);
        return Error(fmt::format("{}: `{}` is not {}; {}", option, request.global, subject.one,
                                 near.empty() ? fmt::format("{} is one", fmt::join(names, ", "))
                                              : fmt::format("did you mean `{}`?", near)));
    }
    if (names.size() > 1)
        return Error(fmt::format("{}: which one? {} {}: {} {}={}", option, fmt::join(names, ", "), subject.have, option,
                                 names[0], request.file));
    return last;
}

WeightedStacks weigh_stacks(const plan::Plan& plan, Symbolizer& symbols, const ProcessNumbers& numbers, size_t index,
                            const std::vector<ArrayElement>& elements) {
    const plan::Global& global = plan.globals[index];
    WeightedStacks out;
    for (const ArrayElement& element : elements) {
        const int64_t weight = weight_of(global, element);
        out.negative += weight < 0;
        if (weight <= 0)
            continue;
        out.stacks.push_back(stack_of(plan, symbols, numbers, global, element));
        out.stacks.back().weight = static_cast<uint64_t>(weight);
    }
    return out;
}

Result<void> draw_picture(const plan::Plan& plan, Symbolizer& symbols, const ProcessNumbers& numbers, size_t index,
                          const std::vector<ArrayElement>& elements, const PictureRequest& request,
                          const FoldedWeights* base, const PicturePush& push) {
    const plan::Global& global = plan.globals[index];
    if (elements.empty())
        warn(fmt::format("{}: `{}` has no elements, so the file is empty", facts_of(request.kind).option, global.name),
             Weight::Answer);
    if (request.kind == PictureRequest::Pprof) {
        const Result<std::string> profile = pprof_profile(plan, symbols, numbers, global, elements, push.real_time());
        if (!profile)
            return profile.error();
        if (!request.is_pushed())
            return write_file(request.file, *profile);
        const Result<void> pushed = post_patiently(request.target, push.settings, "application/octet-stream", *profile,
                                                   push_patience_ns, push.hurry);
        return pushed ? pushed
                      : Error(fmt::format("--pprof: {} did not accept the profile: {}", request.target.host_and_port(),
                                          pushed.error().message));
    }
    const auto [stacks, negative] = weigh_stacks(plan, symbols, numbers, index, elements);
    if (negative)
        warn(fmt::format("{}: {} stacks of `{}` have a value below 0 and are skipped", request.file, negative,
                         global.name),
             Weight::Answer);
    if (request.kind == PictureRequest::Folded && request.file == "-")
        return push.print(folded_text(stacks)), Result<void>();
    if (request.kind == PictureRequest::Folded)
        return write_file(request.file, folded_text(stacks));
    FlameOptions options;
    options.base = base;
    options.title = global.name;
    const auto hit = std::ranges::find_if(
        plan.probes, [](const plan::Probe& probe) { return probe.in_kernel && !probe.points.empty(); });
    if (hit != plan.probes.end())
        options.title += ": " + hit->points[0].pn;
    const std::string& file = request.file;
    return write_file(file, file.ends_with(".svg")               ? flame_svg(stacks, options)
                            : file.ends_with(".html")            ? flame_html(stacks, options)
                            : file.ends_with(".speedscope.json") ? speedscope_text(stacks, options.title)
                                                                 : flame_tree_text(stacks));
}

} // namespace sonde

#include "driver/relink.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/fd.h"

namespace sonde {

plan::Origin describe_origin(const Options& options) {
    std::error_code ignored;
    return {options.words, std::filesystem::current_path(ignored).string(), {}, {}};
}

Result<void> check_target(const plan::Plan& plan, const Options& wanted, const Options& now) {
    if (!plan.filter_target || !wanted.command.empty() || wanted.target_pid != 0)
        return {};
    return Error(fmt::format("{} was made with -c or -x, and runs with one of them only", now.positional[0]));
}

Result<Options> options_to_relink(const plan::Plan& plan, const Options& now) {
    const plan::Origin& origin = plan.origin;
    auto refuse = [&](const char* why) { return Error(why).in(fmt::format("cannot relink `{}`", now.positional[0])); };
    if (origin.words.empty())
        return refuse("it does not keep its script: translate that again");
    std::variant<Options, int> read = read_words(origin.words);
    if (!std::holds_alternative<Options>(read))
        return refuse("the options that it was made with are not understood any more: translate its script again");
    Options made = std::get<Options>(std::move(read));
    Options out = now;
    out.script = std::move(made.script);
    out.has_script = made.has_script;
    out.extras = std::move(made.extras);
    out.positional = std::move(made.positional);
    out.limits = made.limits;
    out.globals = std::move(made.globals);
    out.folders = std::move(made.folders);
    out.compatible = std::move(made.compatible);
    out.host_probes = std::move(made.host_probes);
    out.loops = std::move(made.loops);
    out.ring_bytes = made.ring_bytes;
    if (out.groups.empty())
        out.groups = std::move(made.groups);
    out.guru = made.guru;
    out.unoptimized = made.unoptimized;
    out.skip_bad_variables = made.skip_bad_variables;
    out.suppress_handler_errors = made.suppress_handler_errors;
    out.timing = made.timing || now.timing;
    out.warnings_off = made.warnings_off || now.warnings_off;
    if (out.attach.empty())
        out.attach = std::move(made.attach);
    // The plan that is written is for the same kind of target.
    if (out.last_pass < 5 && out.command.empty() && out.target_pid == 0)
        out.command = std::move(made.command);
    if (out.last_pass == 4 && out.module.empty())
        out.module = std::move(made.module);
    out.words = origin.words;
    if (out.last_pass == 5)
        if (Result<void> fits = check_target(plan, out, now); !fits)
            return std::move(fits).error();
    return out;
}

OriginFolder::OriginFolder(const std::string& folder) {
    Result<Fd> here = open_file(".", O_RDONLY | O_DIRECTORY);
    if (!folder.empty() && here && chdir(folder.c_str()) == 0)
        before_ = *std::move(here);
}

OriginFolder::~OriginFolder() {
    // It was there a moment ago; if it cannot be entered any more, the session goes on where it is.
    if (before_ && fchdir(before_.get()) != 0)
        before_.reset();
}

} // namespace sonde

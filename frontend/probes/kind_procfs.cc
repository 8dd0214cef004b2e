// Resolves procfs("path").read and .write: control files, which other programs read and write while the session runs.
//
// The files __stdin and __stdin_line stand for the session's standard input, by character and by line. The library's
// input.char and input.line use them.
#include <algorithm>

#include <fmt/format.h>

#include "frontend/probes/kinds.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

using ast::PointComponent;

constexpr const char* default_path = "command";

// Returns why the path is not valid, or "". A path is one or more names, separated by `/`.
std::string why_bad_path(const std::string& path) {
    if (path.empty() || path.front() == '/' || path.back() == '/')
        return "write a path relative to the session's own folder";
    for (size_t at = 0; at <= path.size();) {
        size_t end = std::min(path.find('/', at), path.size());
        std::string name = path.substr(at, end - at);
        if (name.empty() || name == "." || name == "..")
            return fmt::format("`{}` is not a file's name", name);
        if (name.size() > 255)
            return "a name can have at most 255 bytes";
        at = end + 1;
    }
    return "";
}

struct Parts {
    const PointComponent* umask = nullptr;
    const PointComponent* access = nullptr; // read or write
    const PointComponent* max_size = nullptr;
};

// Reads .umask(M), .read or .write, and .maxsize(N), in any order.
std::optional<Parts> read_parts(Resolving& resolving) {
    Parts out;
    for (size_t i = 1; const PointComponent* one = resolving.at(i); i++) {
        std::vector<std::string> allowed;
        if (!out.umask)
            allowed.emplace_back("umask");
        if (!out.access) {
            allowed.emplace_back("read");
            allowed.emplace_back("write");
        }
        if (!out.max_size && (!out.access || out.access->name == "read"))
            allowed.emplace_back("maxsize");
        if (std::find(allowed.begin(), allowed.end(), one->name) == allowed.end()) {
            if (one->name == "maxsize" && out.access && !out.max_size)
                resolving.diags
                    .report(DiagId::UnknownProbePoint, one->range, "`maxsize` limits only the text for a reader")
                    .help("a handler of `.write` receives each written text, up to MAXSTRINGLEN");
            else
                report_component(resolving, i, allowed);
            return std::nullopt;
        }
        bool access = one->name == "read" || one->name == "write";
        if (!expect_argument(resolving, *one, access ? PointComponent::None : PointComponent::Number))
            return std::nullopt;
        (access ? out.access : one->name == "umask" ? out.umask : out.max_size) = one;
    }
    if (!out.access) {
        report_component(resolving, resolving.components().size(), {"read", "write", "umask"});
        return std::nullopt;
    }
    if (out.max_size && out.access->name == "write") {
        resolving.diags
            .report(DiagId::UnknownProbePoint, out.max_size->range, "`maxsize` limits only the text for a reader")
            .help("a handler of `.write` receives each written text, up to MAXSTRINGLEN");
        return std::nullopt;
    }
    return out;
}

bool check_numbers(Resolving& resolving, const Parts& parts) {
    constexpr int64_t most_bytes = 16 << 20;
    if (parts.max_size && (parts.max_size->number <= 0 || parts.max_size->number > most_bytes)) {
        resolving.diags.report(DiagId::BadNumber, parts.max_size->arg_range,
                               fmt::format("`maxsize` must be from 1 to {}", most_bytes));
        return false;
    }
    return true;
}

} // namespace

std::vector<ResolvedPoint> resolve_procfs(Resolving& resolving) {
    const PointComponent& first = resolving.components()[0];
    if (first.arg == PointComponent::Number && !expect_argument(resolving, first, PointComponent::String))
        return {};
    std::string path = first.arg == PointComponent::None ? default_path : first.text;
    if (std::string why = why_bad_path(path); !why.empty()) {
        resolving.diags.report(DiagId::BadTarget, first.arg_range,
                               fmt::format("`{}` cannot be a control file: {}", path, why));
        return {};
    }
    std::optional<Parts> parts = read_parts(resolving);
    if (!parts || !check_numbers(resolving, *parts))
        return {};
    bool reads = parts->access->name == "read";
    bool input = path == "__stdin" || path == "__stdin_line";
    if (input && reads) {
        resolving.diags.report(
            DiagId::BadTarget, first.arg_range,
            fmt::format("`{}` is the session's standard input, which nothing can read as a file", path));
        return {};
    }
    // As for files that a program creates, the mask removes permissions. By default only the session's user has access.
    constexpr uint32_t all_read = 0444, all_write = 0222, usual_mask = 077;
    const int64_t mask = parts->umask ? parts->umask->number : usual_mask;
    ResolvedPoint resolved;
    resolved.kind = reads ? plan::ProbeKind::FileRead : plan::ProbeKind::FileWrite;
    resolved.point.path = path;
    resolved.point.file.mode = (reads ? all_read : all_write) & ~static_cast<uint32_t>(mask);
    if (parts->max_size)
        resolved.point.file.max_size = static_cast<uint64_t>(parts->max_size->number);
    resolved.point.pp = first.arg == PointComponent::None ? "procfs" : fmt::format("procfs({})", quoted(path));
    if (parts->umask)
        resolved.point.pp += fmt::format(".umask({})", mask);
    resolved.point.pp += reads ? ".read" : ".write";
    if (parts->max_size)
        resolved.point.pp += fmt::format(".maxsize({})", parts->max_size->number);
    resolved.sharing.only = resolved.point.pp;
    return {resolved};
}

} // namespace sonde

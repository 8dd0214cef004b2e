// Uprobes as perf events, one for each place. For kernels without uprobe_multi links (before 6.6).
//
// Each event takes several system calls, and its removal waits in the kernel. So a pattern with thousands of places
// takes seconds here.
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "runtime/attach/attach.h"

namespace sonde {
namespace {

// Detaches all of its links together.
class Links final : public Attachment {
  public:
    ~Links() override {
        for (bpf_link* link : links)
            bpf_link__destroy(link);
    }
    std::vector<bpf_link*> links;
};

} // namespace

Result<std::unique_ptr<Attachment>> attach_perf_event(bpf_object* object, const UprobeTargets& targets) {
    bpf_program* program = bpf_object__find_program_by_name(object, targets.program.c_str());
    auto out = std::make_unique<Links>();
    for (size_t i = 0; i < targets.offsets.size(); i++) {
        bpf_uprobe_opts options{};
        options.sz = sizeof options;
        options.bpf_cookie = targets.cookies[i];
        options.ref_ctr_offset = targets.ref_ctr_offsets[i];
        options.retprobe = targets.at_return;
        errno = 0;
        bpf_link* link =
            bpf_program__attach_uprobe_opts(program, targets.process ? static_cast<pid_t>(targets.process) : -1,
                                            targets.attach_name.c_str(), targets.offsets[i], &options);
        if (!link)
            return errno_error(fmt::format("cannot attach to {}", targets.names[i]), errno);
        out->links.push_back(link);
    }
    return std::unique_ptr<Attachment>(std::move(out));
}

} // namespace sonde

// The kernel's functions: by breakpoints (kprobes, as perf events) and by trampolines (fentry, fexit; 5.5).
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>

#include <fmt/format.h>

#include "runtime/attach/attach.h"

namespace sonde {
namespace {

class BpfLink final : public Attachment {
  public:
    explicit BpfLink(bpf_link* link) : link_(link) {}
    BpfLink(const BpfLink&) = delete;
    BpfLink& operator=(const BpfLink&) = delete;
    ~BpfLink() override { bpf_link__destroy(link_); }

  private:
    bpf_link* link_;
};

// What the kernel's answers mean here.
Error explain(const plan::Point& point, int err) {
    std::string what = fmt::format("cannot attach to {}", point.pp);
    if (err == ENOENT || err == EINVAL)
        return Error(fmt::format("{}: the kernel does not let this function be traced", what), err);
    if (err == EADDRNOTAVAIL)
        return Error(fmt::format("{}: several functions have this name", what), err);
    return errno_error(what, err);
}

} // namespace

Result<std::unique_ptr<Attachment>> attach_kprobe(bpf_object* object, const std::string& name, const plan::Point& point,
                                                  bool at_return) {
    bpf_program* program = bpf_object__find_program_by_name(object, name.c_str());
    bpf_kprobe_opts options{};
    options.sz = sizeof options;
    options.bpf_cookie = point.row;
    options.retprobe = at_return;
    options.offset = point.offset;
    std::string function = point.module.empty() ? point.symbol : point.module + ":" + point.symbol;
    errno = 0;
    bpf_link* link = bpf_program__attach_kprobe_opts(program, function.c_str(), &options);
    if (!link)
        return explain(point, errno);
    return std::unique_ptr<Attachment>(std::make_unique<BpfLink>(link));
}

Result<std::unique_ptr<Attachment>> attach_trampoline(int program_fd, const plan::Point& point) {
    int fd = bpf_raw_tracepoint_open(nullptr, program_fd);
    if (fd < 0)
        return explain(point, -fd);
    return std::unique_ptr<Attachment>(std::make_unique<LinkAttachment>(fd));
}

} // namespace sonde

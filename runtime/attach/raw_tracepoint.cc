// Raw tracepoints: one program can be at several.
#include <bpf/bpf.h>

#include <cerrno>

#include <fmt/format.h>

#include "runtime/attach/attach.h"

namespace sonde {
namespace {

class Link final : public Attachment {
  public:
    explicit Link(int fd) : fd_(fd) {}

  private:
    Fd fd_;
};

} // namespace

Result<std::unique_ptr<Attachment>> attach_raw_tracepoint(int program_fd, const char* tracepoint) {
    int fd = bpf_raw_tracepoint_open(tracepoint, program_fd);
    if (fd < 0)
        return errno_error(fmt::format("cannot attach to the tracepoint {}", tracepoint), errno);
    return std::unique_ptr<Attachment>(std::make_unique<Link>(fd));
}

} // namespace sonde

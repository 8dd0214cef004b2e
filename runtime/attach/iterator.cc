// BPF iterators: the kernel runs a program for each element of a list, for example for each task or each map.
//
// Creating a file from the link (BPF_ITER_CREATE, 5.8) and reading it to the end runs the program once for each
// element. The program writes nothing into the file, so read() returns no data. After many elements read() fails with
// EAGAIN, and the next read() continues.
#include <bpf/bpf.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "runtime/attach/attach.h"

namespace sonde {
namespace {

class Iteration final : public Attachment {
  public:
    Iteration(int link, int file, std::string name) : link_(link), file_(file), name_(std::move(name)) {}
    Result<void> begin() override {
        char text[256];
        ssize_t got = 0;
        do
            got = read(file_.get(), text, sizeof text);
        while (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)));
        if (got < 0)
            return errno_error(fmt::format("cannot iterate over {}", name_), errno);
        return {};
    }

  private:
    Fd link_, file_;
    std::string name_;
};

} // namespace

Result<std::unique_ptr<Attachment>> attach_iterator(const PointToAttach& one) {
    const int link = bpf_link_create(one.program_fd(), 0, BPF_TRACE_ITER, nullptr);
    if (link < 0)
        return errno_error(fmt::format("cannot attach to {}", one.point.pp), -link);
    const int file = bpf_iter_create(link);
    if (file < 0) {
        close(link);
        return errno_error(fmt::format("cannot attach to {}", one.point.pp), -file);
    }
    return std::unique_ptr<Attachment>(std::make_unique<Iteration>(link, file, one.point.pp));
}

} // namespace sonde

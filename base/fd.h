// File descriptors with an owner, and whole files in and out.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace sonde {

// Owns a descriptor and closes it; -1 is none.
class Fd {
  public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    ~Fd() { reset(); }
    Fd(Fd&& other) noexcept : fd_(other.release()) {}
    Fd& operator=(Fd&& other) noexcept {
        if (this != &other)
            reset(other.release());
        return *this;
    }
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;

    int get() const { return fd_; }
    bool valid() const { return fd_ >= 0; }
    explicit operator bool() const { return valid(); }
    // Gives the descriptor away.
    int release() { return std::exchange(fd_, -1); }
    // Closes, and owns `fd` from now on. Keeps errno.
    void reset(int fd = -1);

  private:
    int fd_ = -1;
};

// open(2) with O_CLOEXEC; the error is "cannot open `path`: ...".
Result<Fd> open_file(const std::string& path, int flags, unsigned mode = 0666);

// Everything up to the end, also where the size is not known before (/proc, pipes). `what` names it in the error.
Result<std::string> read_all(int fd, const std::string& what);
// The error is "cannot read `path`: ...", for folders too.
Result<std::string> read_file(const std::string& path);

// Writes all of it, however many calls that takes. `what` names the file in the error: "cannot write `what`: ...".
Result<void> write_all(int fd, std::string_view data, const std::string& what);
// Creates or replaces the file.
Result<void> write_file(const std::string& path, std::string_view data, unsigned mode = 0666);

} // namespace sonde

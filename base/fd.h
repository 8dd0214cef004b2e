// Owners of file descriptors; reading and writing whole files.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace sonde {

// Owns a descriptor and closes it. -1 means that it owns none.
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
    // Returns the descriptor and no longer owns it.
    int release() { return std::exchange(fd_, -1); }
    // Closes the descriptor and takes ownership of `fd`. Preserves errno.
    void reset(int fd = -1);

  private:
    int fd_ = -1;
};

// Calls open(2) with O_CLOEXEC. Errors: "cannot open `path`: ...".
Result<Fd> open_file(const std::string& path, int flags, unsigned mode = 0666);

// Reads up to the end, even if the size is not known before (/proc, pipes). `what`: the file's name for the error.
Result<std::string> read_all(int fd, const std::string& what);
// Errors: "cannot read `path`: ...", also for folders.
Result<std::string> read_file(const std::string& path);

// Writes everything, with as many calls as necessary. Errors: "cannot write `what`: ...".
Result<void> write_all(int fd, std::string_view data, const std::string& what);
// Creates or replaces the file.
Result<void> write_file(const std::string& path, std::string_view data, unsigned mode = 0666);

} // namespace sonde

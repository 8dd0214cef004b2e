// Work in a child process.
//
// The front end was written for one translation in a process: it may take seconds, read any program's debug
// information, or end the process if sonde has a bug. The server forks a child for each check and each request. So an
// edit or a cancel request kills the child, a crash costs one answer, and the server itself only copies texts.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde::rpc {

class Worker {
  public:
    // Runs `work` in a child process, which inherits all memory. Its standard input and output are /dev/null. The
    // caller must have one thread only. Errors: no process can be created.
    static Result<Worker> start(const std::function<std::string()>& work);
    Worker(Worker&& other) noexcept;
    Worker& operator=(Worker&&) = delete;
    ~Worker(); // kills the child

    int descriptor() const { return output_.get(); }
    // Reads the available output; call this when the descriptor is readable. Returns false at its end.
    bool read_some();
    // Call this after the end. Returns the value of `work`. Errors: how the child ended instead.
    Result<std::string> finish();

  private:
    Worker(pid_t child, Fd output) : child_(child), output_(std::move(output)) {}

    pid_t child_; // 0: it has ended
    Fd output_;
    std::string text_;
};

// Redirects standard error to a file in memory, for as long as this object exists.
class CapturedErrors {
  public:
    CapturedErrors();
    ~CapturedErrors();
    CapturedErrors(const CapturedErrors&) = delete;
    CapturedErrors& operator=(const CapturedErrors&) = delete;
    std::string text() const;

  private:
    Fd file_, before_;
};

} // namespace sonde::rpc

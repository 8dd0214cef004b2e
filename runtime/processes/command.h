// The command of the option -c. Its process is created before the probes are attached, but waits to run the command
// until all are attached. It ends with the session.
#pragma once

#include <sys/resource.h>

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// Raises the limit of open files, because each probe point needs descriptors. Returns the previous limit, for the
// commands that sonde starts.
rlimit allow_many_files();

// A child process that runs the command. Destroying the object does not end the process; call terminate().
class Command {
  public:
    // Creates the child process. It waits, and executes the command after release(). `files` becomes its limit of open
    // files. Errors: the program does not exist or cannot be executed, or the command cannot be parsed.
    static Result<Command> start(const std::string& command, const rlimit& files);
    Command() = default;
    Command(Command&&) = default;
    Command& operator=(Command&&) = default;

    pid_t pid() const { return pid_; }
    // The path of the program that the command's first word names. Empty if the shell runs the word itself.
    const std::string& program() const { return program_; }
    // Lets the command run.
    void release();
    // Returns the wait status if the command has ended.
    std::optional<int> poll();
    // Ends the command if it still runs: SIGTERM, then SIGKILL after two seconds.
    void terminate();

  private:
    pid_t pid_ = 0;
    std::string program_;
    bool ended_ = false;
    int status_ = 0;
    Fd gate_; // writing a byte lets the child continue
};

// Implements system(): runs the command in a shell, without waiting for its end.
void run_in_background(const std::string& command);

} // namespace sonde

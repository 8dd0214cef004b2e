// The command given with -c: started stopped, let go when every probe is armed, ended with the session.
#pragma once

#include <sys/resource.h>

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// A probe takes a descriptor at each of its points: lets sonde have as many as it may. Gives the limit before, which is
// what the commands that it starts expect.
rlimit allow_many_files();

class Command {
  public:
    // The child exists and waits; its first instruction runs after release(). It may have `files` files open. Errors:
    // not found, no permission.
    static Result<Command> start(const std::string& command, const rlimit& files);
    Command() = default;
    Command(Command&&) = default;
    Command& operator=(Command&&) = default;

    pid_t pid() const { return pid_; }
    // The path of the program that its first word names; empty if the shell does that itself.
    const std::string& program() const { return program_; }
    void release();
    // The wait status if it has ended.
    std::optional<int> poll();
    // Ends it if it still runs.
    void terminate();

  private:
    pid_t pid_ = 0;
    std::string program_;
    bool ended_ = false;
    int status_ = 0;
    Fd gate_; // written to let the child go
};

// system(): a shell runs the command; nobody waits for it.
void run_in_background(const std::string& command);

} // namespace sonde

// Standard error that goes to a file. The file is created by the first message, so a quiet session leaves no file.
//
// A pipe replaces standard error, for commands that sonde starts, too. A thread reads the pipe.
#pragma once

#include <string>
#include <thread>

#include "base/fd.h"

namespace sonde {

class LateFile {
  public:
    // Replaces standard error. Removes an older file with this name if the user may overwrite it (see create_file()).
    explicit LateFile(std::string path);
    // Writes all messages so far to the file. Afterward standard error is /dev/null.
    ~LateFile();
    LateFile(const LateFile&) = delete;
    LateFile& operator=(const LateFile&) = delete;

  private:
    bool start();
    void copy();
    // Copies the pipe's contents to the file. Returns false at the end of the pipe.
    bool take();

    std::string path_;
    Fd reader_, end_; // end_: an eventfd that the destructor signals
    Fd file_;
    bool refused_ = false; // sonde tried to create the file; if that failed, messages are lost
    std::thread thread_;
};

} // namespace sonde

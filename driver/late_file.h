// Standard error that goes to a file which is there only if something was said.
//
// A pipe takes the place of standard error, of what is started from then on too. A thread reads it, and makes the file
// when the first text comes.
#pragma once

#include <string>
#include <thread>

#include "base/fd.h"

namespace sonde {

class LateFile {
  public:
    // Takes the place of standard error. A file of that name from before is removed, if it is one's own (create_file).
    explicit LateFile(std::string path);
    // What was said until now is in the file; standard error is /dev/null then.
    ~LateFile();
    LateFile(const LateFile&) = delete;
    LateFile& operator=(const LateFile&) = delete;

  private:
    bool start();
    void copy();
    // False: nothing comes any more.
    bool take();

    std::string path_;
    Fd reader_, end_; // end_: the destructor's word
    Fd file_;
    bool refused_ = false; // the file cannot be made: texts are lost, and the session goes on
    std::thread thread_;
};

} // namespace sonde

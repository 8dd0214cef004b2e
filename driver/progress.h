// What sonde is at, on a terminal, when that takes more than a second: resolving, translating, downloading.
#pragma once

#include <memory>
#include <string>

namespace sonde {

// While one lives, and from a second on, its text stands in the last line of standard error, if that is a terminal. It
// is gone before anything else is said: whoever says something ends it first.
class Progress {
  public:
    explicit Progress(std::string what);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

  private:
    struct Shown;
    std::unique_ptr<Shown> shown_; // null: no terminal
};

} // namespace sonde

// Shows sonde's current work on a terminal if it takes more than a second: resolving, translating, downloading.
#pragma once

#include <memory>
#include <string>

namespace sonde {

// From the first second until the destructor, the last line of a terminal on standard error shows the text. Destroy
// this object before you print anything else.
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

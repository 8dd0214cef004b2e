// --relink: the current directory of the plan's first translation.
#pragma once

#include <string>

#include "base/fd.h"

namespace sonde {

// Enters the directory in which a plan was made, and leaves it in the destructor. Relative paths of the script and of
// its options begin there. Does nothing if the name is empty or the directory does not exist.
class OriginFolder {
  public:
    explicit OriginFolder(const std::string& folder);
    ~OriginFolder();
    OriginFolder(const OriginFolder&) = delete;
    OriginFolder& operator=(const OriginFolder&) = delete;

  private:
    Fd before_;
};

} // namespace sonde

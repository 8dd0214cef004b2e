// --relink: the working directory of the plan's translation.
#pragma once

#include <string>

#include "base/fd.h"

namespace sonde {

// Enters the directory that a plan was made in, and leaves it when this ends: relative paths of the script and of its
// options begin there. Does nothing if the directory does not exist, or if the name is empty.
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

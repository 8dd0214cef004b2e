#include "driver/origin_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "base/result.h"

namespace sonde {

OriginFolder::OriginFolder(const std::string& folder) {
    Result<Fd> here = open_file(".", O_RDONLY | O_DIRECTORY);
    if (!folder.empty() && here && chdir(folder.c_str()) == 0)
        before_ = *std::move(here);
}

OriginFolder::~OriginFolder() {
    // The directory existed a moment ago. If it cannot be entered any more, the session goes on where it is.
    if (before_ && fchdir(before_.get()) != 0)
        before_.reset();
}

} // namespace sonde

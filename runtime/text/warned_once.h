// Warnings that several checks of a session may find: each text is printed once.
#pragma once

#include <set>
#include <string>

#include "runtime/text/messages.h"

namespace sonde {

class WarnedOnce {
  public:
    void operator()(const std::string& text, Weight weight = Weight::Answer) {
        if (texts_.insert(text).second)
            warn(text, weight);
    }

  private:
    std::set<std::string> texts_;
};

} // namespace sonde

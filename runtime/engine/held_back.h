// What begin probes cause outside waits until every probe is armed and handles its hits: whoever starts a load when a
// text appears finds all hits counted.
#pragma once

#include <string>
#include <vector>

#include "runtime/text/messages.h"
#include "runtime/text/output.h"

namespace sonde {

// Texts that are printed and said, and commands, in their order.
class HeldBack {
  public:
    HeldBack(Output& output, Messages& messages) : output_(output), messages_(messages) {}
    void begin();
    // system(): keeps the command, or runs it.
    void run(const std::string& command);
    void release();

  private:
    void put_gates();
    void open_gates();
    Output& output_;
    Messages& messages_;
    bool holding_ = false;
    std::vector<std::string> commands_; // there is a gate before each
};

} // namespace sonde

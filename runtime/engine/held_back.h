// Delays the effects of begin probes until all probes are armed. A user or a script may start a workload when a text of
// a begin probe appears. All hits of that workload must then be counted.
#pragma once

#include <string>
#include <vector>

#include "runtime/text/messages.h"
#include "runtime/text/output.h"

namespace sonde {

// Holds printed texts, messages and the commands of system(), and releases them in their original order.
class HeldBack {
  public:
    HeldBack(Output& output, Messages& messages) : output_(output), messages_(messages) {}
    // Starts holding. Call it before the first begin probe runs.
    void begin();
    // Handles system(): keeps the command while holding, else runs it in the background.
    void run(const std::string& command);
    // Prints and runs everything that was held.
    void release();

  private:
    // A gate stops the writer: text after the gate is not written until the gate opens.
    void put_gates();
    void open_gates();
    Output& output_;
    Messages& messages_;
    bool holding_ = false;
    std::vector<std::string> commands_; // each has a gate in the output before it
};

} // namespace sonde

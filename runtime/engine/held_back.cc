// Delays the effects of begin probes until all probes are armed.
//
// Texts go through the writer's queue anyway, so a gate in the queue holds them back. Commands of system() are not in
// that queue. Each command gets a gate of its own, at the place in the output where it was called:
//
//     queue       gate, "a\n", gate, "b\n", gate
//     commands    cmd1, cmd2
//
// release() opens one gate, waits until the text is written, runs the first command, and so on.
#include "runtime/engine/held_back.h"

#include <utility>

#include "runtime/processes/command.h"

namespace sonde {

void HeldBack::put_gates() {
    output_.writer().put_gate();
    if (!messages_.is_shared())
        messages_.writer().put_gate();
}

void HeldBack::open_gates() {
    output_.writer().open_gate();
    if (!messages_.is_shared())
        messages_.writer().open_gate();
}

void HeldBack::begin() {
    output_.flush();
    put_gates();
    holding_ = true;
}

// A gate in the output marks the position of each command, so that release() can print the text before a command first.
void HeldBack::run(const std::string& command) {
    output_.flush();
    if (holding_) {
        put_gates();
        commands_.push_back(command);
        return;
    }
    output_.settle(); // earlier output must appear before the command's
    run_in_background(command);
}

void HeldBack::release() {
    if (!std::exchange(holding_, false))
        return;
    output_.flush();
    for (const std::string& command : std::exchange(commands_, {})) {
        open_gates();
        output_.settle();
        run_in_background(command);
    }
    open_gates();
}

} // namespace sonde

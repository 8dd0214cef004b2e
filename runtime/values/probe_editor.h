// Adds probes to a running session and removes probes (--editable). The control files and the --live screen ask for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace sonde {

class ProbeEditor {
  public:
    enum class Verb : uint32_t {
        Add,    // the text declares probes, and also globals, functions and aliases
        Remove, // the text has the numbers of probes, or is `all`: all added probes
        List,   // the answer has a line for each probe
    };
    struct Answer {
        // 0: done. EAGAIN: the text is incomplete, for example inside a handler. Other errors: nothing was done, and
        // `text` explains why.
        int error = 0;
        std::string text; // lines for the user, with a newline at the end of each
    };
    using Answered = std::function<void(const Answer&)>;

    virtual ~ProbeEditor() = default;
    // Asks for a change. `answered` is called later, in the session's thread, or at once if the answer is known. It is
    // not called if the session ends before. `is_whole`: no more text follows, so an incomplete text is wrong.
    virtual void ask(Verb verb, const std::string& text, bool is_whole, Answered answered) = 0;
};

} // namespace sonde

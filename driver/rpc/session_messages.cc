#include "driver/rpc/session_messages.h"

#include <sstream>
#include <utility>

namespace sonde::rpc {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        out.push_back(std::move(line));
    return out;
}

std::vector<std::string> messages_of(const std::string& errors) {
    std::vector<std::string> out;
    std::string last;
    for (const std::string& line : lines_of(errors)) {
        const bool goes_on = line.starts_with(' ') || line.starts_with("note: ") || line.starts_with("help: ");
        if (!goes_on && !last.empty())
            out.push_back(std::exchange(last, ""));
        if (!line.empty())
            last += (last.empty() ? "" : "\n") + line;
    }
    if (!last.empty())
        out.push_back(last);
    return out;
}

bool is_cost(std::string_view message) {
    return message.find(" of the program's time, ") != std::string_view::npos && !message.starts_with("WARNING") &&
           !message.starts_with("ERROR");
}

} // namespace sonde::rpc

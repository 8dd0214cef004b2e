#include "driver/mcp/lines.h"

#include <utility>

namespace sonde::mcp {

LineReader::Next LineReader::next() {
    while (true) {
        const size_t end = buffer_.find('\n', searched_);
        if (end == std::string::npos) {
            searched_ = buffer_.size();
            skips_ |= buffer_.size() > max_message;
            if (skips_) {
                buffer_.clear();
                searched_ = 0;
            }
            return Incomplete();
        }
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        searched_ = 0;
        if (std::exchange(skips_, false) || line.size() > max_message)
            return TooLong();
        if (!line.empty() && line.back() == '\r')
            line.pop_back();
        if (line.find_first_not_of(" \t") != std::string::npos) // clients may separate messages by empty lines
            return Message{std::move(line)};
    }
}

} // namespace sonde::mcp

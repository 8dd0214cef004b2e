// A cache of texts that are expensive to compute and never change under their names. Earlier sessions may have stored
// them.
#pragma once

#include <optional>
#include <string>

namespace sonde {

// The interface of the cache. Entries may disappear at any time.
class KeptTexts {
  public:
    virtual ~KeptTexts() = default;
    KeptTexts() = default;
    KeptTexts(KeptTexts&&) = default;
    KeptTexts& operator=(KeptTexts&&) = default;
    KeptTexts(const KeptTexts&) = delete;
    KeptTexts& operator=(const KeptTexts&) = delete;

    // nullopt if the text is unknown or damaged. `name`: the name of a file in the cache.
    virtual std::optional<std::string> load(const std::string& name) = 0;
    // Stores the text, if that is possible.
    virtual void store(const std::string& name, const std::string& text) = 0;
};

} // namespace sonde

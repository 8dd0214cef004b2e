// Texts that earlier sessions have found out: what takes long, and stays the same for as long as its name does.
#pragma once

#include <optional>
#include <string>

namespace sonde {

class KeptTexts {
  public:
    virtual ~KeptTexts() = default;
    KeptTexts() = default;
    KeptTexts(KeptTexts&&) = default;
    KeptTexts& operator=(KeptTexts&&) = default;
    KeptTexts(const KeptTexts&) = delete;
    KeptTexts& operator=(const KeptTexts&) = delete;

    // nullopt: it is not known, or was damaged. `name` is one of a file.
    virtual std::optional<std::string> load(const std::string& name) = 0;
    // Where it cannot be kept it is not.
    virtual void store(const std::string& name, const std::string& text) = 0;
};

} // namespace sonde

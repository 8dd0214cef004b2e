// The folder of what earlier sessions have found out: $XDG_CACHE_HOME/sonde or ~/.cache/sonde.
//
// Plans in it are code that root runs, so the folder and each entry must belong to the session's user, and nobody else
// may write to them. What has not been used for longest is deleted where all is more than the limit, 256 MB or what the
// file cache_mb_limit says. Nothing that goes wrong here is an error of the session's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/kept_texts.h"
#include "base/result.h"

namespace sonde {

class CacheFolder final : public KeptTexts {
  public:
    static constexpr std::string_view plan_suffix = ".plan"; // of plans' entries

    // Makes it where there is none. Errors: why it cannot be used.
    static Result<CacheFolder> open();
    // --clean-cache. Errors: there is a folder that cannot be used.
    static Result<void> clean();

    const std::string& path() const { return path_; }
    // Errors: there is no such entry (ENOENT), or it is of no use.
    Result<std::string> read(const std::string& name) const;
    // It counts as used now.
    void note_use(const std::string& name) const;
    // Others see the whole entry or none. Deletes what is too much. Errors: it could not be written.
    Result<void> write(const std::string& name, std::string_view data) const;

    std::optional<std::string> load(const std::string& name) override;
    void store(const std::string& name, const std::string& text) override;

  private:
    CacheFolder() = default;

    std::string path_;
    Fd folder_;
};

} // namespace sonde

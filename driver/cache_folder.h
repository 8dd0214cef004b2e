// The cache of results of earlier sessions: $XDG_CACHE_HOME/sonde or ~/.cache/sonde.
//
// Plans in the cache are code that root runs. The folder and each entry must therefore belong to the session's user,
// and nobody else may have write access. When the cache exceeds its limit, sonde deletes the least recently used
// entries. The limit is 256 MB, or the number of megabytes in the file cache_mb_limit. A failure of the cache is never
// an error of the session.
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
    static constexpr std::string_view plan_suffix = ".plan"; // of entries that are plans

    // Opens the folder, and creates it if it does not exist. Errors: the folder cannot be used, with the reason.
    static Result<CacheFolder> open();
    // --clean-cache: deletes entries above the limit. Errors: the folder exists but cannot be used.
    static Result<void> clean();

    const std::string& path() const { return path_; }
    // Reads an entry. Errors: the entry does not exist (os_error is ENOENT), or it is unusable.
    Result<std::string> read(const std::string& name) const;
    // Marks the entry as used now.
    void note_use(const std::string& name) const;
    // Writes an entry atomically, then deletes old entries above the limit. Errors: the entry cannot be written.
    Result<void> write(const std::string& name, std::string_view data) const;

    // KeptTexts: reads or writes a text with a checksum. An entry that is missing or damaged loads as nullopt. store()
    // ignores errors.
    std::optional<std::string> load(const std::string& name) override;
    void store(const std::string& name, const std::string& text) override;

  private:
    CacheFolder() = default;

    std::string path_;
    Fd folder_;
};

} // namespace sonde

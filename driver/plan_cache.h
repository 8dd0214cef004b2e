// Plans of scripts that were translated before, so that LLVM has to work for each script once.
//
// Passes 1 and 2 always run: they read the script, the library, programs, debug information and the kernel as they are
// now. What comes out of them, with the options, is all that pass 3 knows, and so is the key. A plan that is found is
// therefore the one that would be made; nothing has to be guessed from names, sizes or times of files. Entries have
// the whole key, which is compared, so no two keys of one hash are mixed up. Where
// there is no folder for them (driver/cache_folder.h), -v says why.
#pragma once

#include <optional>
#include <string>

#include "base/source.h"
#include "codegen/codegen.h"
#include "driver/cache_folder.h"
#include "driver/options.h"
#include "frontend/hir/hir.h"
#include "runtime/plan/plan.h"

namespace sonde {

class PlanCache {
  public:
    PlanCache(const Options& options, const hir::Program& program, const Sources& sources, const CodegenFacts& facts);

    // The plan, if it was made before; it counts as used now.
    std::optional<plan::Plan> load();
    // Keeps the plan for other sessions, and deletes what has not been used for longest if there is too much.
    void store(const plan::Plan& plan);
    // Of the entry.
    std::string path() const { return (folder_ ? folder_->path() : "") + "/" + name_; }

  private:
    // With -v, on standard error.
    void tell(const std::string& why) const;

    const bool reads_, tells_;
    const bool has_own_name_; // -m
    const std::string module_;
    std::string name_, key_;
    std::optional<CacheFolder> folder_; // nullopt: nothing is kept
};

} // namespace sonde

// The unwind tables of files, as sonde_walk_thread() takes them (runtime/plan/thread_walk.h).
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "runtime/plan/thread_walk.h"
#include "runtime/symbols/symbols.h"

namespace sonde {

// The tables of one walk. `symbols` must outlive the object.
class WalkTables {
  public:
    explicit WalkTables(const Symbols& symbols) : symbols_(symbols) {}

    // Returns the table of a file, which is valid as long as this object, or null if the file has none.
    const sonde_walk_table* find(uint64_t inode) {
        const std::span<const uint64_t> words = symbols_.table_of(inode);
        if (words.empty())
            return nullptr;
        static_assert(sizeof(uint64_t) == sizeof(unsigned long long));
        return &(tables_[inode] = {reinterpret_cast<const unsigned long long*>(words.data()), words.size()});
    }

  private:
    const Symbols& symbols_;
    std::unordered_map<uint64_t, sonde_walk_table> tables_; // by inode
};

} // namespace sonde

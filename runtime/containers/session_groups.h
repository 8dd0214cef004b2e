// Fills the maps of a session's control groups for handlers: the groups that the session is limited to, and the names
// of all groups.
//
// Programs in the kernel add new groups to the first map, so that a restarted container is traced at once
// (codegen/rtlib/groups.bpf.c). They cannot read the runtimes' files. So they report each new group to the session,
// which looks up its names.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/containers/groups.h"
#include "runtime/load/load.h"
#include "runtime/plan/plan.h"

namespace sonde {

// One object for each session. `plan` must outlive the object.
class SessionGroups {
  public:
    explicit SessionGroups(const plan::Plan& plan) : plan_(plan) {}
    SessionGroups(const SessionGroups&) = delete;
    SessionGroups& operator=(const SessionGroups&) = delete;

    // Call this before anything is loaded. Returns an error if a group that the session is limited to does not exist.
    Result<void> check();
    // Adds all existing groups to the maps. Call this after the programs are attached. Returns an error if a group has
    // ended meanwhile.
    Result<void> fill(const KernelObject& kernel);
    // Called when the kernel reports a new group. A group that ended, such as a container, counts again when it is
    // restarted.
    void note_new() { is_stale_ = true; }
    // Updates the maps after note_new(). Does nothing otherwise.
    void refresh(const KernelObject& kernel);
    // Returns whether a process is in one of the groups that the session is limited to.
    bool has(int64_t process) const;
    // Returns a name of the session's own group, for handlers that run in the session's process.
    std::string own_text(plan::GroupKind kind);
    // Whether a map was too small for all groups.
    bool is_full() const { return is_full_; }

  private:
    // Updates a map. Warns once if a map is full.
    void put(int map, const void* key, const void* value);
    // Adds the groups in `tops` and all groups below to `sonde_groups`.
    void let_in(const KernelObject& kernel, const GroupPicture& picture, const std::vector<size_t>& tops);
    // Adds the names of all groups to `sonde_group_names`.
    void name_all(const KernelObject& kernel, const GroupPicture& picture);

    const plan::Plan& plan_;
    std::string mounted_;        // the path of the hierarchy
    std::set<std::string> tops_; // paths of the groups that the session is limited to
    std::set<uint64_t> let_in_;  // groups that this class added to `sonde_groups`
    std::set<uint64_t> named_;   // groups whose names are final
    bool is_stale_ = false, is_full_ = false;
    std::vector<std::string> own_texts_; // indexed by GroupKind; empty before the first use
};

} // namespace sonde

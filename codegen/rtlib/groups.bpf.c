/* Keeps the maps of control groups up to date while a session runs. A new group below one of the session's groups
 * belongs to the session immediately, for example a restarted container or unit. Also sends each new group to the
 * session, which finds its names. All programs of this file are linked. */
#include "container_name.h"
#include "kernel_task.h"

extern u8 sonde_groups, sonde_births, sonde_group_names, sonde_group_new, sonde_control; /* maps, defined by the script's module */

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;
static long (*const bpf_map_delete_elem)(void* map, const void* key) = (void*)3;
static long (*const bpf_ringbuf_output)(void* ring, void* data, u64 size, u64 flags) = (void*)130;

enum { NEW_GROUP = 19 }; /* plan::NewGroup */

#define PROGRAM(section_name) __attribute__((section(section_name), used)) int

/* The group's id, or 0 if it belongs to an old hierarchy (cgroup v1), whose ids are separate. */
static inline u64 number_of(struct cgroup* group)
{
    struct cgroup_root* root = 0;
    struct kernfs_node* folder = 0;
    s32 hierarchy = 1;
    u64 id = 0;
    READ(root, group->root);
    READ(hierarchy, root->hierarchy_id);
    if (hierarchy != 0)
        return 0;
    READ(folder, group->kn);
    READ(id, folder->id);
    return id;
}

static inline int ends_in(const char* name, s64 size, const char* end, u32 length)
{
    u32 same = 0;
    for (u32 i = 0; i < length; i++)
        same += name[(size - 1 - length + i) & 255] == end[i];
    return size > length && same == length;
}

/* Until the session has found the names of a new group, about a millisecond later, the group has the names of its
 * parent, its own path, and for a container or unit the folder's name. Only one call runs at a time, because the
 * kernel holds cgroup_mutex. */
static inline void name_group(u64 id, const struct sonde_group_birth* birth, s64 size, const char* path)
{
    u32 zero = 0;
    struct sonde_group_names* fresh = bpf_map_lookup_elem(&sonde_group_new, &zero);
    const struct sonde_group_names* above = bpf_map_lookup_elem(&sonde_group_names, &birth->parent);
    if (!fresh || !above)
        return;
    bpf_probe_read_kernel(fresh, sizeof *fresh, above);
    bpf_probe_read_kernel_str(fresh->cgroup, sizeof fresh->cgroup, path);
    if (is_container((const u8*)birth->name))
        bpf_probe_read_kernel_str(fresh->container, sizeof fresh->container, birth->name);
    if (ends_in(birth->name, size, ".service", 8) || ends_in(birth->name, size, ".scope", 6))
        bpf_probe_read_kernel_str(fresh->unit, sizeof fresh->unit, birth->name);
    bpf_map_update_elem(&sonde_group_names, &id, fresh, 0);
}

PROGRAM("raw_tp/cgroup_mkdir") sonde_group_born(u64* context)
{
    struct cgroup *group = (void*)context[0], *above = 0;
    struct cgroup_subsys_state* up = 0;
    struct kernfs_node* folder = 0;
    const char* name = 0;
    struct sonde_group_birth birth = {};
    u32 record[4] = {NEW_GROUP, 0, 0, 0};
    u64 id = number_of(group), one = 1;
    if (!id)
        return 0;
    READ(up, group->self.parent);
    READ(above, up->cgroup);
    READ(folder, group->kn);
    READ(name, folder->name);
    birth.parent = number_of(above);
    name_group(id, &birth, bpf_probe_read_kernel_str(birth.name, sizeof birth.name, name), (const char*)context[1]);
    if (bpf_map_lookup_elem(&sonde_groups, &birth.parent) || bpf_map_lookup_elem(&sonde_births, &birth))
        bpf_map_update_elem(&sonde_groups, &id, &one, 0);
    bpf_ringbuf_output(&sonde_control, record, sizeof record, 0);
    return 0;
}

/* Called when the group has been removed and its last task is gone. */
PROGRAM("raw_tp/cgroup_release") sonde_group_gone(u64* context)
{
    u64 id = number_of((void*)context[0]);
    bpf_map_delete_elem(&sonde_groups, &id);
    bpf_map_delete_elem(&sonde_group_names, &id);
    return 0;
}

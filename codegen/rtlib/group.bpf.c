/* A task's control group in the unified hierarchy (cgroup v2), and the group's names.
 *
 * The kernel knows only folders: /system.slice/docker-0123.scope. The names that people use, such as a container's
 * name, are in files of the container runtimes, which a handler cannot read. So the session fills a map from a group's
 * id to its names. For a group that the session does not know yet, the folder's name must do. */
#include "container_name.h"
#include "kernel_task.h"

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;

static inline struct kernfs_node* folder_of(struct task_struct* task)
{
    struct css_set* groups = 0;
    struct cgroup* group = 0;
    struct kernfs_node* folder = 0;
    READ(groups, task->cgroups);
    READ(group, groups->dfl_cgrp);
    READ(folder, group->kn);
    return folder;
}

RT s64 sonde_rt_group(u64 task)
{
    struct kernfs_node* folder = folder_of((void*)task);
    u64 id = 0;
    READ(id, folder->id);
    return (s64)id;
}

/* kind: plan::GroupKind. The session has stored names for all groups that it knows. For others, this returns the
 * folder's name. */
RT s64 sonde_rt_group_text(u8* slot, u64 task, u64 kind, void* names)
{
    static const u32 offsets[4] = {__builtin_offsetof(struct sonde_group_names, container), __builtin_offsetof(struct sonde_group_names, pod),
                                   __builtin_offsetof(struct sonde_group_names, unit), __builtin_offsetof(struct sonde_group_names, cgroup)};
    struct kernfs_node* folder = folder_of(task ? (void*)task : bpf_get_current_task());
    const char* name = 0;
    u64 id = 0;
    READ(id, folder->id);
    const u8* known = bpf_map_lookup_elem(names, &id);
    if (known)
        return (s64)copy_bounded(slot, sonde_rt_max, known + (offsets[kind & 3] & 1023));
    u8 text[72] = {};
    READ(name, folder->name);
    slot[0] = 0;
    if (kind != 0 && kind != 3)
        return 0;
    bpf_probe_read_kernel_str(text, sizeof text, name);
    if (kind == 0 && !is_container(text))
        return 0;
    return (s64)copy_bounded(slot, sonde_rt_max, (const u8*)name);
}

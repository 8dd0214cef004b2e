/* Recognizes control groups of containers by their folder names. */
#pragma once

#include "../../runtime/plan/group_names.h"
#include "rt.h"

/* Whether a container runtime uses such names: libpod-ID.scope, docker-ID.scope, cri-containerd-ID.scope,
 * nerdctl-ID.scope or crio-ID.scope. If a runtime creates the folder itself, the name is the ID, which has 64
 * characters. */
static inline int is_container(const u8* name) {
    static const char prefixes[5][8] = {"libpod-", "docker-", "cri-con", "nerdctl", "crio-"};
    for (u32 i = 0; i < 5; i++) {
        u32 same = 0;
        for (u32 k = 0; k < 7; k++)
            same += !prefixes[i][k] || name[k] == (u8)prefixes[i][k];
        if (same == 7)
            return 1;
    }
    return name[63] && !name[64];
}

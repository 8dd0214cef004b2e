/* What the kernel's side knows of control groups: what the values of `sonde_group_names` and the keys of `sonde_births`
 * are. Shared with codegen/rtlib, so it is C. */
#pragma once

#include <stdint.h>

/* Bytes of each text with its NUL: a container's name has no limit, but people keep it short; a pod is a namespace (63
 * characters) and a name (253); a unit's name has 255 at most (systemd.unit(5)). Longer ones are cut. */
enum { SONDE_CONTAINER_BYTES = 128, SONDE_POD_BYTES = 320, SONDE_UNIT_BYTES = 256, SONDE_CGROUP_BYTES = 512 };

struct sonde_group_names {
    char container[SONDE_CONTAINER_BYTES];
    char pod[SONDE_POD_BYTES];
    char unit[SONDE_UNIT_BYTES];
    char cgroup[SONDE_CGROUP_BYTES]; /* from the hierarchy's root on */
};

/* A group by the one above and its folder's name, so that it is known as soon as it is made. */
struct sonde_group_birth {
    uint64_t parent; /* its number */
    char name[256];  /* NUL-padded */
};

/* Structures of the maps of control groups: values of `sonde_group_names` and keys of `sonde_births`. Shared with
 * codegen/rtlib, so it is C. */
#pragma once

#include <stdint.h>

/* Sizes of the texts in bytes, including the NUL. Longer texts are cut. Names of containers have no limit but are short
 * in practice. A pod's text consists of a namespace (63 characters) and a name (253). A unit's name has at most 255
 * characters (systemd.unit(5)). */
enum { SONDE_CONTAINER_BYTES = 128, SONDE_POD_BYTES = 320, SONDE_UNIT_BYTES = 256, SONDE_CGROUP_BYTES = 512 };

struct sonde_group_names {
    char container[SONDE_CONTAINER_BYTES];
    char pod[SONDE_POD_BYTES];
    char unit[SONDE_UNIT_BYTES];
    char cgroup[SONDE_CGROUP_BYTES]; /* from the hierarchy's root */
};

/* Identifies a group by its parent's number and its folder's name. So it is recognized as soon as it is created, before
 * its own number is known. */
struct sonde_group_birth {
    uint64_t parent; /* its number */
    char name[256];  /* NUL-padded */
};

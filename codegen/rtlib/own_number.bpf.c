/* The current task's numbers where the session is in a PID namespace of its own. Nothing here is relocated by the
 * kernel's types, so that a script that asks for pid() needs none. */
#include "numbering.h"

static u64 (*const bpf_get_current_task)(void) = (void*)35;

RT s64 sonde_rt_own_pid(void) { return process_number(bpf_get_current_task()); }
RT s64 sonde_rt_own_tid(void) { return thread_number(bpf_get_current_task()); }

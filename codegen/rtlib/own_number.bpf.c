/* The current task's numbers if the session is in its own PID namespace. This file does not use relocations by BTF,
 * so scripts with pid() run on kernels without BTF. */
#include "numbering.h"

static u64 (*const bpf_get_current_task)(void) = (void*)35;

RT s64 sonde_rt_own_pid(void) { return process_number(bpf_get_current_task()); }
RT s64 sonde_rt_own_tid(void) { return thread_number(bpf_get_current_task()); }

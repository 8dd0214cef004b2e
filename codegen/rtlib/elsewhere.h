/* Replaces the helpers of BPF in routines that are compiled for the session's process (runtime/plan/thread_walk.h). The
 * compiler includes this before all other headers.
 *
 * A macro with parameters replaces the calls of a helper, but not its declaration. */
#pragma once

/* The routines of elsewhere.c, which read what the walk says. */
struct task_struct* sonde_elsewhere_task(void);
const unsigned char* sonde_elsewhere_registers(void);
unsigned long long sonde_elsewhere_numbers(void);
long sonde_elsewhere_read(void* to, unsigned size, const void* address);
long sonde_elsewhere_read_string(void* to, unsigned size, const void* address);
void* sonde_elsewhere_element(void* map, const void* key);

#define bpf_get_current_task() sonde_elsewhere_task()
#define bpf_get_current_task_btf() sonde_elsewhere_task()
#define bpf_get_current_pid_tgid() sonde_elsewhere_numbers()
#define bpf_task_pt_regs(task) sonde_elsewhere_registers()
#define bpf_probe_read_user(to, size, address) sonde_elsewhere_read(to, size, address)
#define probe_read_user(to, size, address) sonde_elsewhere_read(to, size, address) /* python.h */
#define bpf_probe_read_user_str(to, size, address) sonde_elsewhere_read_string(to, size, address)
#define bpf_map_lookup_elem(map, key) sonde_elsewhere_element(map, key)
#define bpf_map_update_elem(map, key, value, flags) ((void)(map), (void)(key), (void)(value))
/* The structures of the kernel are in the session's memory. */
#define bpf_probe_read_kernel(to, size, from) (__builtin_memcpy(to, from, size), 0)
#define __builtin_preserve_access_index(place) (place)
#define sonde_rt_max sonde_elsewhere_max
#define sonde_rt_zeros sonde_elsewhere_zeros

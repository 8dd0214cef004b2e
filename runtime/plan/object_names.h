// The names of the BPF object's maps and programs. The compiler declares them, and the runtime finds them by these
// names. The maps of a script's globals have names of their own (plan::Global::map).
#pragma once

namespace sonde::plan {

namespace maps {
// ---- output and working memory ----
// Ring buffer: records of output, such as Print and Warn.
inline constexpr const char* events = "sonde_events";
// Ring buffer: records of Exit, Abort and RaiseError.
inline constexpr const char* control = "sonde_control";
// The flight recorder's rings: array of struct sonde_flight_ring, by processor, and array of chunks
// (runtime/plan/flight_rings.h). An object without them sends all records to the session.
inline constexpr const char* flight_rings = "sonde_flight_rings";
inline constexpr const char* flight_chunks = "sonde_flight_chunks";
// Array, one element for each slot: u64 busy, then a handler's strings and temporaries.
inline constexpr const char* frames = "sonde_frames";
// Array, one element for each slot: u64 busy, then the state of its foreach loops (if any).
inline constexpr const char* scans = "sonde_scans";
// Array of ProbeCounts, by probe.
inline constexpr const char* counts = "sonde_counts";
// Array of ProbeTiming, by row (if Plan::timing).
inline constexpr const char* timing = "sonde_timing";
// Array of bytes, by thread number modulo its size: 1 if the thread saved values.
inline constexpr const char* savers = "sonde_savers";

// ---- stacks and symbols (if Plan::tables is not 0) ----
// Array of struct sonde_dispatch, by row (if the tables have KernelStacks).
inline constexpr const char* dispatch = "sonde_dispatch";
// Array of struct sonde_no_stacks: why stacks are missing or cut, as numbers of hits.
inline constexpr const char* no_stacks = "sonde_no_stacks";
// Hash of maps: inode of a file (found by programs::ask_file) -> its table (if handlers look up a part).
inline constexpr const char* files = "sonde_files";
// Hash: struct sonde_identity -> text of a stack and struct sonde_shared (if keys are stacks).
inline constexpr const char* shared = "sonde_shared";
// Hash: struct sonde_identity of a text -> the one of its stack (if keys are stacks).
inline constexpr const char* owners = "sonde_owners";
// Array of one u64: hits whose stack found no room in the two maps above.
inline constexpr const char* unshared = "sonde_unshared";
// Cache of unwind rules.
inline constexpr const char* rules = "sonde_rules";
// Hash of the mappings that the runtime knows.
inline constexpr const char* mapped = "sonde_mapped";
// Hash of the last mappings that were seen in each process.
inline constexpr const char* known = "sonde_known";
// For each language runtime, an array of its structures: interpreters. Those of the plan, then others if the tables
// have UnwindTable.
#define LANGUAGE_RUNTIME(id, name, ...) inline constexpr const char* name = "sonde_" #name;
#include "runtime/plan/language_runtimes.def"
#undef LANGUAGE_RUNTIME
// Hash: number of a name -> struct sonde_interpreted_name, and one struct sonde_frame_cache (likewise).
inline constexpr const char* frame_names = "sonde_frame_names";
inline constexpr const char* frame_cache = "sonde_frame_cache";
// One struct sonde_python_cache (likewise).
inline constexpr const char* python_cache = "sonde_python_cache";
// One struct sonde_thread, which programs::ask_thread fills (if visits_threads()).
inline constexpr const char* thread = "sonde_thread";

// ---- processes and control groups ----
// Array of u64: one bit for each of `most_processes` numbers, mapped by the runtime (if Plan::filter_target).
inline constexpr const char* targets = "sonde_targets";
// Hash: number of a control group -> 1, for the session's groups and all below (if Plan::follows_groups()).
inline constexpr const char* groups = "sonde_groups";
// Hash of struct sonde_group_birth: groups that join `groups` when they are created.
inline constexpr const char* births = "sonde_births";
// Hash: number of a control group -> struct sonde_group_names.
inline constexpr const char* group_names = "sonde_group_names";
// Array of one element: working memory for a new element of `group_names`.
inline constexpr const char* group_new = "sonde_group_new";
// hash: {u64 subject, u64 group} -> row (u32), if any probe has subjects. A subject is a process number, 0 for all
// processes, or the kernel's address of a program's inode. programs::add_subject finds this address, and the runtime
// keeps the file open.
inline constexpr const char* subjects = "sonde_subjects";
// Hash: process -> struct sonde_moved (if Plan::follows_moved_text()).
inline constexpr const char* moved = "sonde_moved";
// Hash: tid (u32) -> inode of its program (u64), for process and thread probes.
inline constexpr const char* tasks = "sonde_tasks";

// ---- performance counters (if Plan::counters is not empty) ----
// Array of perf events: counter c on processor p has the index p * counters + c.
inline constexpr const char* counters = "sonde_counters";
// Array of struct sonde_counted, with the same index (codegen/rtlib/counters.h).
inline constexpr const char* counted = "sonde_counted";
// Hash: {tid, counter} (u32 each) -> u64: the thread's count up to when it was last switched off.
inline constexpr const char* counts_of = "sonde_counts_of";

// ---- watchpoints (runtime/plan/watch_events.h) ----
// Ring buffer: processes that wait for their watchpoints.
inline constexpr const char* watches = "sonde_watches";
// Hash: process -> number of its family.
inline constexpr const char* watched = "sonde_watched";
// Hash: number -> struct sonde_family: processes that share memory.
inline constexpr const char* families = "sonde_families";
} // namespace maps

namespace programs {
// They update maps::targets.
inline constexpr const char* follow_fork = "sonde_follow_fork";
inline constexpr const char* follow_exec = "sonde_follow_exec";
inline constexpr const char* follow_exit = "sonde_follow_exit";
// They update the maps of control groups.
inline constexpr const char* group_born = "sonde_group_born";
inline constexpr const char* group_gone = "sonde_group_gone";
// They update maps::tasks.
inline constexpr const char* seen_fork = "sonde_seen_fork";
inline constexpr const char* seen_exec = "sonde_seen_exec";
inline constexpr const char* seen_exit = "sonde_seen_exit";
inline constexpr const char* seen_task = "sonde_seen_task";
// Adds an open file's inode to maps::subjects.
inline constexpr const char* add_subject = "sonde_add_subject";
// Reads the counters when a thread is switched off.
inline constexpr const char* count_switch = "sonde_count_switch";
// Finds the kernel's numbers of an open file.
inline constexpr const char* ask_file = "sonde_ask_file";
// Copies the registers of a thread to maps::thread (if visits_threads()).
inline constexpr const char* ask_thread = "sonde_ask_thread";
// They stop processes until their watchpoints exist (runtime/attach/watchpoint.h).
inline constexpr const char* watch_begin = "sonde_watch_begin";
inline constexpr const char* watch_fork = "sonde_watch_fork";
inline constexpr const char* watch_exec = "sonde_watch_exec";
inline constexpr const char* watch_exit = "sonde_watch_exit";
inline constexpr const char* watch_running = "sonde_watch_running";
inline constexpr const char* watch_release = "sonde_watch_release";
// At mprotect() and mremap(): notices code that moves.
inline constexpr const char* text_moves = "sonde_text_moves";
// Changes the state of an element of maps::moved, for example to let a process continue.
inline constexpr const char* text_state = "sonde_text_state";
// Copies values that were saved at a function's entry when a process forks (runtime/plan/saved_calls.h).
inline constexpr const char* saved_calls_fork = "sonde_saved_calls_fork";
} // namespace programs

} // namespace sonde::plan

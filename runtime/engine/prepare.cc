// Builds a session's data before anything is attached.
//
// The steps depend on each other: the data area is part of the loaded BPF object, the globals are in the data area, and
// arrays are maps of the object. Without handlers in the kernel, the data area is ordinary memory.
//
// Handlers read facts about the machine from SessionWords, because no helper returns these: the offsets of clocks, the
// time zone, the user. They are determined once here. An exception is the offset of CLOCK_TAI, which the session
// updates.
#include "runtime/engine/prepare.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/clock.h"
#include "runtime/kernel/features.h"
#include "runtime/kernel/kernel_addresses.h"
#include "runtime/kernel/privileges.h"
#include "runtime/plan/shared_globals.h"
#include "runtime/plan/task_arrays.h"
#include "runtime/plan/wrap.h"
#include "runtime/processes/process_numbers.h"

namespace sonde {
namespace {

Result<void> fill_data(Session& session) {
    const plan::Plan& plan = session.plan;
    session.data.words->realtime_offset_ns = session.data.real_time() - session.data.kernel_time();
    session.data.words->tai_offset_ns = tai_offset_ns();
    timespec tick{};
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    session.data.words->hz = static_cast<uint64_t>(std::lround(1e9 / static_cast<double>(std::max(1l, tick.tv_nsec))));
    session.data.words->page_size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    tm local{};
    const std::time_t seconds = std::time(nullptr);
    localtime_r(&seconds, &local);
    session.data.words->seconds_west = -local.tm_gmtoff;
    std::snprintf(session.data.words->zone, sizeof session.data.words->zone, "%s", local.tm_zone);
    std::snprintf(session.data.words->module_size, sizeof session.data.words->module_size,
                  "kernel: %zu, session: %zu, data: %llu", plan.bpf_object.size(), plan.host_object.size(),
                  static_cast<unsigned long long>(plan.data_size));
    session.data.words->uid = getuid();
    session.data.words->pid = static_cast<uint64_t>(getpid());
    session.data.words->max_errors = plan.translate.limits.max_errors;
    session.data.words->max_action = plan.translate.max_action();
    session.data.words->counters = plan.counters.size();
    Result<std::map<std::string, uint64_t>> addresses = find_addresses(plan);
    if (!addresses)
        return std::move(addresses).error();
    for (const plan::Global& global : plan.globals) {
        if (!global.keys.empty() || plan::is_shared(global))
            continue;
        char* place = session.data.memory + global.offset;
        if (!global.address_of.empty()) {
            std::memcpy(place, &addresses->at(global.address_of), 8);
        } else if (global.type == plan::Value::Long)
            std::memcpy(place, &global.initial_long, 8);
        else if (global.type == plan::Value::String)
            std::snprintf(place, plan.max_string, "%s", global.initial_string.c_str());
    }
    return {};
}

} // namespace

Result<void> check_allowed(const plan::Plan& plan) {
    if (std::string why = why_no_changes(plan.changes); !why.empty())
        return Error(why);
    if (!plan.writes.empty())
        if (std::string why = running_kernel().why_not_write(); !why.empty())
            return Error(fmt::format("the script changes the traced program's memory ({}), which this kernel does not "
                                     "allow: {}; remove the write to run the script",
                                     plan.writes, why));
    if (std::string why = plan.bpf_object.empty() ? "" : why_no_own_proc(); !why.empty())
        return Error("sonde cannot identify processes: " + why);
    return {};
}

Result<void> prepare(Session& session, const plan::LinkKinds& links, const SharedMaps* shared) {
    const plan::Plan& plan = session.plan;
    if (!plan.bpf_object.empty()) {
        if (Result<void> opened = session.data.numbers.open(session.kernel_memory); !opened)
            return opened;
        Result<std::unique_ptr<KernelObject>> kernel = KernelObject::load(plan, links, session.data.numbers, shared);
        if (!kernel)
            return std::move(kernel).error();
        session.data.kernel = *std::move(kernel);
        session.data.memory = session.data.kernel->data();
    } else if (shared) {
        session.data.memory = static_cast<char*>(shared->map_data(-1, plan.data_size + 2ull * plan.max_string));
        if (!session.data.memory)
            return errno_error("cannot map the session's globals", errno);
    } else {
        // String operations may write past the last string, as in the kernel's data area.
        session.data.own_memory.resize((plan.data_size + 2ull * plan.max_string) / 8 + 1);
        session.data.memory = reinterpret_cast<char*>(session.data.own_memory.data());
    }
    session.data.words = reinterpret_cast<plan::SessionWords*>(session.data.memory);
    if (Result<void> filled = fill_data(session); !filled)
        return filled;
    if (!plan.host_object.empty()) {
        Result<HostObject> object = HostObject::load(plan.host_object);
        if (!object)
            return std::move(object).error();
        session.host_object = *std::move(object);
    }
    for (const plan::Global& global : plan.globals) {
        if (global.keys.empty())
            session.data.arrays.push_back(nullptr);
        else if (plan::is_shared(global))
            session.data.arrays.push_back(make_kernel_array(global, shared->map_fd(global.map), session.data.words,
                                                            shared->map_fd(global.map + SONDE_WRAP_ORDER)));
        else if (global.in_kernel && !plan::is_in_tasks(global)) // elements in tasks cannot be found from here
            session.data.arrays.push_back(
                make_kernel_array(global, session.data.kernel->map_fd(global.map), session.data.words,
                                  session.data.kernel->map_fd(global.map + SONDE_WRAP_ORDER)));
        else
            session.data.arrays.push_back(make_host_array(global));
    }
    return {};
}

} // namespace sonde

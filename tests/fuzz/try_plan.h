// Does everything with a saved plan except run it: reads and checks it, links its host code, and opens its BPF object.
// For the fuzzer and the test with mutants.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/check.h"
#include "runtime/engine/host_object.h"
#include "runtime/load/object_check.h"
#include "runtime/plan/plan_file.h"

namespace sonde {

enum class Tried { Refused, ObjectRefused, Accepted };

inline Tried try_plan(std::span<const uint8_t> bytes) {
    libbpf_set_print(nullptr);
    Result<plan::Plan> plan = plan::load(bytes);
    if (!plan)
        return Tried::Refused;
    // A loaded plan can be saved and loaded again.
    std::vector<uint8_t> saved = plan::save(*plan);
    Result<plan::Plan> again = plan::load(saved);
    CHECK(again.ok());
    CHECK(plan::save(*again) == saved);
    static_cast<void>(plan::dump(*plan, {}));
    bool good = true;
    if (!plan->host_object.empty()) {
        Result<HostObject> host = HostObject::load(plan->host_object);
        good = host.ok();
        for (const plan::Probe& probe : plan->probes)
            if (good)
                static_cast<void>(host->symbol(probe.symbol));
    }
    if (!plan->bpf_object.empty())
        good = try_kernel_object(*plan).ok() && good;
    return good ? Tried::Accepted : Tried::ObjectRefused;
}

} // namespace sonde

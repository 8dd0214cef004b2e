// Declares the maps of the BPF object, as debug information.
//
// libbpf creates maps from variables in the section .maps. It does not read the variables' contents, but their types in
// BTF, in which each attribute is encoded as the length of an array. For an array of 4-byte keys and 8-byte values,
// with 16 elements, clang would compile:
//
//     struct {
//         int (*type)[2];
//         int (*key_size)[4];
//         int (*value_size)[8];
//         int (*max_entries)[16];
//     } sonde_frames;
//
// Maps::declare() builds the same type with LLVM's DIBuilder, and LLVM's back end converts it to BTF.
//
// Sizes depend on all handlers together: the largest frame, the most expensive foreach, the number of rows. So maps are
// declared last. Until then, code refers to a map by name (map_reference()).
//
// A map that no handler needs is not declared, because each map takes memory and time at the session's begin.
// runtime/plan/object_names.h describes every map.
//
// What would break this: kernels before 6.7 limit the elements of an array map to 4 MB. A foreach over larger arrays is
// reported as an error here, because the kernel's own message would not name the cause.
#include "codegen/bpf/maps.h"

#include <fmt/format.h>

#include <llvm/IR/DIBuilder.h>

#include "codegen/emit/shared_data.h"
#include "codegen/emit/shared_stacks.h"
#include "codegen/rtlib/counters.h"
#include "codegen/rtlib/fork.h"
#include "runtime/plan/array_maps.h"
#include "runtime/plan/copied_memory.h"
#include "runtime/plan/counts.h"
#include "runtime/plan/flight_rings.h"
#include "runtime/plan/group_names.h"
#include "runtime/plan/java.h"
#include "runtime/plan/javascript.h"
#include "runtime/plan/moved_text_event.h"
#include "runtime/plan/object_names.h"
#include "runtime/plan/php.h"
#include "runtime/plan/python.h"
#include "runtime/plan/ruby.h"
#include "runtime/plan/saved_calls.h"
#include "runtime/plan/shared_globals.h"
#include "runtime/plan/stack.h"
#include "runtime/plan/stack_copy.h"
#include "runtime/plan/task_arrays.h"
#include "runtime/plan/thread_walk.h"
#include "runtime/plan/visited_threads.h"
#include "runtime/plan/watch_events.h"
#include "runtime/plan/watched_programs.h"
#include "runtime/plan/wrap.h"

namespace sonde {
namespace {

// enum bpf_map_type (include/uapi/linux/bpf.h). The constants are repeated here, so that sonde compiles with old
// headers.
enum MapType : uint32_t {
    Hash = 1,
    Array = 2,
    PerfEventArray = 4,
    LruHash = 9,
    HashOfMaps = 13,
    Ringbuf = 27,
    TaskStorage = 29,
};

constexpr uint32_t smallest_ring = 64 << 10;  // the largest page of all kernels
constexpr uint32_t few_events_ring = 1 << 20; // warnings and the like, and reports of mappings
constexpr uint64_t few_errors = 16;           // messages of that many errors fit
constexpr uint64_t largest_element = 4 << 20; // of an array map, before 6.7
constexpr uint64_t largest_walk = 256 << 20;  // half of the verifier's largest offset (BPF_MAX_VAR_OFF)
constexpr uint64_t walks_of_all = 64 << 20;   // bytes of all slots together; this memory is always allocated

} // namespace

uint64_t largest_walks(const CodegenFacts& facts) {
    return facts.may_goto ? largest_walk : largest_element; // may_goto: 6.9
}

uint32_t Maps::count_scans() const {
    return static_cast<uint32_t>(std::clamp<uint64_t>(walks_of_all / (8 + scan_bytes_), 1, scans_of_all));
}

std::string Maps::declare() {
    std::string unsupported;
    // Programs that detect mappings send them to the runtime through the ring buffer.
    const bool sends = sends_ || bpf_.state.plan.tables != 0;
    const uint32_t flight_chunks = bpf_.state.facts.flight_chunks;
    const auto ring_bytes = static_cast<uint32_t>(bpf_.state.translate.ring_bytes);
    declare(plan::maps::events, Ringbuf, 0, 0,
            !sends          ? smallest_ring
            : flight_chunks ? std::min(ring_bytes, few_events_ring)
                            : ring_bytes);
    if (flight_chunks) {
        // The runtime sizes the first map by the number of processors.
        declare(plan::maps::flight_rings, Array, 4, sizeof(sonde_flight_ring), 1);
        declare(plan::maps::flight_chunks, Array, 4, SONDE_FLIGHT_CHUNK_BYTES, flight_chunks);
    }
    declare(plan::maps::control, Ringbuf, 0, 0,
            bpf_.state.translate.limits.max_errors > few_errors ? 256 << 10 : 64 << 10);
    if (frames_)
        declare(plan::maps::frames, Array, 4, 8 + frame_bytes_ + e_.slot_size(), frames_of_all);
    if (scans_) {
        declare(plan::maps::scans, Array, 4, 8 + scan_bytes_, count_scans());
        if (scan_bytes_ > largest_walks(bpf_.state.facts))
            unsupported = fmt::format("the arrays of a foreach are too large for this kernel ({} MB, at most {}): "
                                      "declare a capacity (`global "
                                      "a[50000]`), use `end` or a timer, or lower -DMAXNESTING",
                                      scan_bytes_ >> 20, largest_walks(bpf_.state.facts) >> 20);
    }
    declare(plan::maps::counts, Array, 4, sizeof(plan::ProbeCounts),
            std::max<uint32_t>(1, static_cast<uint32_t>(bpf_.state.plan.probes.size())));
    if (counts_stacks_)
        declare(plan::maps::no_stacks, Array, 4, sizeof(sonde_no_stacks),
                static_cast<uint32_t>(bpf_.state.plan.probes.size()));
    if (bpf_.state.plan.filter_target)
        declare(plan::maps::targets, Array, 4, 8, plan::most_processes / 64);
    if (bpf_.state.plan.follows_moved_text())
        declare(plan::maps::moved, Hash, 4, sizeof(sonde_moved), 1024);
    if (bpf_.state.plan.names_groups || !bpf_.state.plan.groups.empty()) {
        constexpr uint32_t most_groups = 65536, most_births = 1024;
        declare(plan::maps::groups, Hash, 8, 8, most_groups);
        declare(plan::maps::births, Hash, sizeof(sonde_group_birth), 8, most_births);
        declare(plan::maps::group_names, Hash, 8, sizeof(sonde_group_names), most_groups);
        // Memory for the program that reads the names of new control groups.
        declare(plan::maps::group_new, Array, 4, sizeof(sonde_group_names), 1);
    }
    if (bpf_.state.plan.tables & plan::KernelStacks)
        declare(plan::maps::dispatch, Array, 4, sizeof(sonde_dispatch),
                std::max<uint32_t>(1, static_cast<uint32_t>(bpf_.state.plan.rows.size())));
    if (bpf_.state.plan.tables & plan::looked_up) {
        declare(plan::maps::files, HashOfMaps, 8, 4, 4096);
        declare(plan::maps::mapped, LruHash, sizeof(sonde_mapping), 8, 16384);
        declare(plan::maps::frame_names, Hash, 4, sizeof(sonde_interpreted_name),
                bpf_.state.plan.tables & plan::UnwindTable ? SONDE_INTERPRETED_NAMES : 1);
        declare(plan::maps::rules, Array, 4, sizeof(sonde_rules), 1);
        declare(plan::maps::known, LruHash, 8, sizeof(struct sonde_known), 1024);
        e_.zeros(sizeof(struct sonde_known));
    }
    if (visits_threads(bpf_.state.plan))
        declare(plan::maps::thread, Array, 4, sizeof(sonde_thread), 1);
    if (plan::copies_stacks(bpf_.state.plan))
        declare(plan::stack_copy_map, Array, 4, sizeof(sonde_stack_copy), 1);
    static_assert(+SONDE_PYTHON_MOST == +SONDE_INTERPRETERS_MOST);
    if (bpf_.state.plan.tables & plan::UnwindTable) {
#define LANGUAGE_RUNTIME(id, name, ...)                                                                                \
    declare(plan::maps::name, Array, 4, sizeof(sonde_##name), SONDE_INTERPRETERS_MOST);
#include "runtime/plan/language_runtimes.def"
#undef LANGUAGE_RUNTIME
        declare(plan::maps::frame_cache, Array, 4, sizeof(sonde_frame_cache), 1);
        declare(plan::maps::python_cache, Array, 4, sizeof(sonde_python_cache), 1);
        e_.zeros(sizeof(sonde_interpreted_name));
    } else if (bpf_.reads_python) {
        declare(plan::maps::python, Array, 4, sizeof(sonde_python), SONDE_INTERPRETERS_MOST);
    }
    if (const uint32_t stacks = bpf_.state.plan.tables & plan::UnwindTable ? shared_stacks(bpf_.state.plan) : 0) {
        declare(plan::maps::shared, Hash, sizeof(sonde_identity),
                bpf_.state.plan.max_string + sizeof(sonde_shared) + 16ull * shared_places(bpf_.state.plan), stacks);
        declare(plan::maps::owners, Hash, sizeof(sonde_identity), sizeof(sonde_identity), stacks);
        declare(plan::maps::unshared, Array, 4, 8, 1); // counts hits whose stack did not fit into the maps above
    }
    if (bpf_.state.plan.has_subjects()) {
        declare(plan::maps::subjects, Hash, 16, 4, static_cast<uint32_t>(2 * bpf_.state.plan.rows.size()));
        declare(plan::maps::tasks, Hash, 4, 8, bpf_.state.plan.follows_tasks() ? 65536 : 1);
    }
    if (watches_programs(bpf_.state.plan)) {
        constexpr uint32_t families = 8192, members = 16384;
        declare(plan::maps::watches, Ringbuf, 0, 0, 64 << 10);
        declare(plan::maps::watched, Hash, 4, 8, members);
        declare(plan::maps::families, Hash, 8, sizeof(sonde_family), families);
    }
    if (uint32_t counters = static_cast<uint32_t>(bpf_.state.plan.counters.size())) {
        // The runtime sizes this map by the number of processors.
        declare(plan::maps::counters, PerfEventArray, 4, 4, counters);
        declare(plan::maps::counted, Array, 4, sizeof(sonde_counted), counters);
        declare(plan::maps::counts_of, LruHash, 8, 8, 65536);
    }
    if (bpf_.state.translate.keeps_times)
        declare(plan::maps::timing, Array, 4, sizeof(plan::ProbeTiming),
                std::max<uint32_t>(1, static_cast<uint32_t>(bpf_.state.plan.rows.size())));
    for (const plan::Global& g : bpf_.state.plan.globals)
        if (plan::is_in_tasks(g)) {
            constexpr uint32_t spare_elements = 1024;
            declare_task_storage(g.map, g.value_size);
            declare(plan::spare_map(g), Hash, 4, g.value_size, spare_elements);
        } else if (g.in_kernel) {
            declare(g.map, Hash, plan::map_key_size(g), plan::map_value_size(g), static_cast<uint32_t>(g.capacity));
            if (g.wrap)
                declare(g.map + SONDE_WRAP_ORDER, Array, 4, 8 + ((g.key_size + 7ull) & ~7ull),
                        sonde_wrap_places(g.capacity));
        }
    for (size_t i = 0; i < bpf_.state.plan.probes.size(); i++)
        if (!bpf_.state.plan.probes[i].entry_map.empty())
            declare(bpf_.state.plan.probes[i].entry_map, LruHash, 16,
                    bpf_.state.entry_size(*bpf_.state.program.handlers[i]), 65536);
    if (plan::saves_calls(bpf_.state.plan))
        declare(plan::maps::savers, Array, 4, 1, SONDE_SAVERS);
    describe_data();
    e_.lines().builder().finalize();
    return unsupported;
}

void Maps::declare(const std::string& name, uint32_t type, uint64_t key_size, uint64_t value_size, uint32_t entries) {
    llvm::SmallVector<Attribute, 4> attributes = {{"type", number_type(type)}};
    if (type != Ringbuf) {
        attributes.push_back({"key_size", number_type(key_size)});
        attributes.push_back({"value_size", number_type(value_size)});
    }
    attributes.push_back({"max_entries", number_type(entries)});
    describe_map(name, attributes);
}

// The kernel requires the types of the key, which is an int, and of the value.
void Maps::declare_task_storage(const std::string& name, uint64_t value_size) {
    constexpr uint32_t no_preallocation = 1; // BPF_F_NO_PREALLOC
    llvm::DIBuilder& di = e_.lines().builder();
    auto* word = di.createBasicType("long", 64, llvm::dwarf::DW_ATE_unsigned);
    auto* range = di.getOrCreateSubrange(0, static_cast<int64_t>(value_size / 8));
    describe_map(name, {{"type", number_type(TaskStorage)},
                        {"map_flags", number_type(no_preallocation)},
                        {"key", di.createBasicType("int", 32, llvm::dwarf::DW_ATE_signed)},
                        {"value", di.createArrayType(value_size * 8, 64, word, di.getOrCreateArray({range}))}});
}

llvm::DIType* Maps::number_type(uint64_t number) {
    llvm::DIBuilder& di = e_.lines().builder();
    auto* range = di.getOrCreateSubrange(0, static_cast<int64_t>(number));
    return di.createArrayType(number * 32, 32, di.createBasicType("int", 32, llvm::dwarf::DW_ATE_signed),
                              di.getOrCreateArray({range}));
}

void Maps::describe_map(const std::string& name, llvm::ArrayRef<Attribute> attributes) {
    auto* variable = llvm::cast<llvm::GlobalVariable>(map_reference(e_, name));
    llvm::DIBuilder& di = e_.lines().builder();
    llvm::DIFile* file = e_.lines().file(0);
    llvm::DICompileUnit* unit = e_.lines().unit(0);
    llvm::SmallVector<llvm::Metadata*, 4> members;
    uint64_t at = 0;
    auto* owner =
        di.createStructType(unit, "", file, 0, 256, 64, llvm::DINode::FlagZero, nullptr, di.getOrCreateArray({}));
    for (const auto& [title, type] : attributes) {
        members.push_back(di.createMemberType(owner, title, file, 0, 64, 64, at, llvm::DINode::FlagZero,
                                              di.createPointerType(type, 64)));
        at += 64;
    }
    auto* structure =
        di.createStructType(unit, "", file, 0, at, 64, llvm::DINode::FlagZero, nullptr, di.getOrCreateArray(members));
    variable->addDebugInfo(di.createGlobalVariableExpression(unit, name, "", file, 0, structure, false));
}

void Maps::describe_data() {
    llvm::DIBuilder& di = e_.lines().builder();
    llvm::DIFile* file = e_.lines().file(0);
    auto* byte = di.createBasicType("char", 8, llvm::dwarf::DW_ATE_signed_char);
    const auto describe = [&](llvm::GlobalVariable& variable, uint64_t size) {
        auto* range = di.getOrCreateSubrange(0, static_cast<int64_t>(size));
        auto* array = di.createArrayType(size * 8, 8, byte, di.getOrCreateArray({range}));
        variable.addDebugInfo(
            di.createGlobalVariableExpression(e_.lines().unit(0), variable.getName().str(), "", file, 0, array, false));
    };
    describe(*bpf_.data, bpf_.state.plan.data_size);
    if (llvm::GlobalVariable* shared = declare_shared_data(e_))
        describe(*shared, plan::shared_bytes);
}

} // namespace sonde

// The problem: code that writes a file and code that reads it drift apart when a field is added. A forgotten field is
// lost silently.
//
// The idea: members() lists the fields of each structure once. Three visitors use this list: Writer appends the fields
// to a file, Reader fills them, and Describer computes a hash of the list itself. This hash is the version of the
// format. It changes by itself whenever a field is added, removed or resized, so nobody can forget to increase a
// version number.
//
// The file is native: byte order and sizes are those of the machine that will run it. All machines for which sonde
// translates have the same. Its header has the machine, and a checksum against accidents. It does not protect against
// malice, because a plan contains code (docs/security.md).
#include "runtime/plan/plan_file.h"

#include <cstring>
#include <initializer_list>
#include <type_traits>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/byte_cursor.h"
#include "base/check.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/replace_file.h"
#include "base/trusted_file.h"
#include "runtime/plan/array_maps.h"
#include "runtime/plan/java.h"
#include "runtime/plan/javascript.h"
#include "runtime/plan/php.h"
#include "runtime/plan/plan_check.h"
#include "runtime/plan/python.h"
#include "runtime/plan/ruby.h"
#include "runtime/plan/stack.h"

namespace sonde::plan {
namespace {

constexpr char magic[8] = {'s', 'o', 'n', 'd', 'e', 'p', 'l', '\n'};

class Writer {
  public:
    static constexpr bool reading = false;
    std::vector<uint8_t> out;
    template <typename T> void number(T& value) {
        const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
        out.insert(out.end(), bytes, bytes + sizeof value);
    }
    uint64_t count(uint64_t size) {
        number(size);
        return size;
    }
    void bytes(void* data, uint64_t size) {
        if (size == 0)
            return;
        out.insert(out.end(), static_cast<uint8_t*>(data), static_cast<uint8_t*>(data) + size);
    }
    bool ok() const { return true; }
};

class Reader {
  public:
    static constexpr bool reading = true;
    explicit Reader(std::span<const uint8_t> in)
        : in_(std::string_view(reinterpret_cast<const char*>(in.data()), in.size())) {}
    template <typename T> void number(T& value) { bytes(&value, sizeof value); }
    // Limited by the remaining bytes, because each element has at least one byte.
    uint64_t count(uint64_t) {
        uint64_t size = 0;
        number(size);
        if (size > in_.rest())
            in_.fail();
        return in_.failed() ? 0 : size;
    }
    void bytes(void* data, uint64_t size) {
        if (size == 0)
            return;
        const std::string_view taken = in_.take_bytes(size);
        if (!in_.failed())
            std::memcpy(data, taken.data(), size);
        else if (size < 64)
            std::memset(data, 0, size);
    }
    bool ok() const { return !in_.failed(); }
    bool at_end() const { return in_.empty(); }

  private:
    ByteCursor in_;
};

// Computes a hash of the types of all fields, without their values.
class Describer {
  public:
    Hash hash;
    template <typename T> void number(T&) { hash.add(sizeof(T)); }
    uint64_t count(uint64_t) {
        hash.add(uint64_t{0});
        return 0;
    }
    void bytes(void*, uint64_t) {}
    bool ok() const { return true; }
};

template <typename A, typename T> void fields(A& a, T& value);

template <typename A> void field(A& a, std::string& text) {
    text.resize(a.count(text.size()));
    a.bytes(text.data(), text.size());
}
template <typename A> void field(A& a, bool& flag) {
    uint8_t byte = flag;
    a.number(byte);
    flag = byte != 0;
}
template <typename A, typename T> void field(A& a, std::vector<T>& list) {
    uint64_t count = a.count(list.size());
    if constexpr (std::is_same_v<T, uint8_t>) {
        list.resize(count);
        a.bytes(list.data(), list.size());
    } else if constexpr (std::is_same_v<A, Describer>) {
        T item{};
        fields(a, item);
    } else if constexpr (A::reading) {
        // Add elements one by one, so that a wrong count cannot allocate more memory than the file has data for.
        for (uint64_t i = 0; i < count && a.ok(); i++)
            fields(a, list.emplace_back());
    } else {
        for (T& item : list)
            fields(a, item);
    }
}
template <typename A, typename T> void field(A& a, T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
        a.number(value);
    else
        fields(a, value);
}
template <typename A, typename... T> void all(A& a, T&... values) { (field(a, values), ...); }

template <typename A> void members(A& a, StatsNeeds& v) {
    all(a, v.variance, v.histogram, v.low, v.high, v.width, v.variance_shift, v.elision, v.bar_width, v.unicode,
        v.quantiles);
}
template <typename A> void members(A& a, Directive& v) {
    all(a, v.kind, v.conversion, v.flag, v.width_is_arg, v.precision_is_arg, v.width, v.precision, v.text, v.stats,
        v.name, v.about);
}
template <typename A> void members(A& a, Format& v) { all(a, v.directives, v.is_hit); }
template <typename A> void members(A& a, ErrorMessage& v) { all(a, v.id, v.text); }
template <typename A> void members(A& a, ErrorPlace& v) { all(a, v.text, v.in_library); }
template <typename A> void members(A& a, Site& v) { all(a, v.message, v.near); }
template <typename A> void members(A& a, Value& v) { all(a, v); }
template <typename A> void members(A& a, std::string& v) { field(a, v); }
template <typename A> void members(A& a, KeyPart& v) {
    all(a, v.type, v.offset, v.size, v.is_signed, v.is_text, v.name, v.role);
}
template <typename A> void members(A& a, Global& v) {
    all(a, v.name, v.type, v.keys, v.stats, v.offset, v.in_kernel, v.map, v.capacity, v.wrap, v.key_size, v.value_size,
        v.initial_long, v.initial_string, v.address_of, v.is_own, v.auto_print, v.is_settable, v.print_as_pointer,
        v.only_grows, v.labels);
}
template <typename A> void members(A& a, PerfSpec& v) { all(a, v.type, v.config, v.sample, v.is_frequency); }
template <typename A> void members(A& a, Counter& v) { all(a, v.name, v.perf); }
template <typename A> void members(A& a, WatchSpec& v) {
    all(a, v.address, v.length, v.reads, v.is_kernel, v.is_relative, v.is_symbol);
}
template <typename A> void members(A& a, HookSpec& v) { all(a, v.family, v.hook, v.priority); }
template <typename A> void members(A& a, FileSpec& v) { all(a, v.mode, v.max_size); }
template <typename A> void members(A& a, NarrowCall& v) { all(a, v.number, v.arguments); }
template <typename A> void members(A& a, Point& v) {
    all(a, v.pp, v.pn, v.function, v.path, v.symbol, v.module, v.meant, v.number, v.narrow_calls, v.build_id, v.offset,
        v.entry_offset, v.ref_ctr_offset, v.program, v.pid, v.perf, v.watch, v.hook, v.file, v.row);
}
template <typename A> void members(A& a, TimerSpec& v) { all(a, v.interval_ns, v.random_ns); }
template <typename A> void members(A& a, Probe& v) {
    all(a, v.name, v.place, v.kind, v.in_kernel, v.symbol, v.entry_program, v.entry_map, v.at_instruction,
        v.reads_registers, v.is_session, v.sleepable, v.has_condition, v.order, v.timer, v.lock, v.locked_for,
        v.frame_size, v.points);
}
template <typename A> void members(A& a, ProbedCode& v) {
    all(a, v.offset, v.bytes, v.length, v.encoding, v.hazard, v.instead, v.nearest);
}
template <typename A> void members(A& a, ModuleTypes& v) { all(a, v.name, v.fingerprint); }
template <typename A> void members(A& a, KernelBuild& v) { all(a, v.release, v.types, v.modules); }
template <typename A> void members(A& a, ProbedFile& v) {
    all(a, v.path, v.build_id, v.size, v.hash, v.may_move, v.code);
}
template <typename A> void members(A& a, NamedText& v) { all(a, v.name, v.text); }
template <typename A> void members(A& a, Origin& v) { all(a, v.folder, v.scripts, v.library); }
template <typename A> void members(A& a, GroupName& v) { all(a, v.kind, v.name, v.root); }
template <typename A> void members(A& a, Assignment& v) { all(a, v.name, v.value); }
template <typename A> void members(A& a, ArrayLabels& v) { all(a, v.array, v.names); }
template <typename A> void members(A& a, Limits& v) {
#define LIMIT(member, ...) field(a, v.member);
#include "options/translate.def"
}
template <typename A> void members(A& a, Translate& v) {
#define VALUE(type, member, ...) field(a, v.member);
#define OPTION(type, member, ...) field(a, v.member);
#include "options/translate.def"
}
template <typename A> void members(A& a, sonde_python& v) { a.bytes(&v, sizeof v); }
template <typename A> void members(A& a, Plan& v) {
    all(a, v.script, v.bpf_object, v.host_object, v.data_size, v.max_string, v.tables, v.writes, v.changes,
        v.filter_target, v.filter_groups, v.names_groups, v.names_module, v.marks);
    all(a, v.globals, v.formats, v.sites, v.calls, v.rows, v.probes, v.lines, v.counters, v.pythons, v.texts, v.module,
        v.kernel, v.files, v.translate, v.origin, v.groups);
}
template <typename A, typename T> void fields(A& a, T& value) { members(a, value); }

// The beginning of a file.
struct Header {
    char magic[8];
    uint64_t machine; // Plan::machine
    uint64_t shape;   // hash of the list of fields in the version that wrote the file
    uint64_t size;    // number of bytes that follow
    uint64_t hash;    // hash of the bytes that follow; detects accidents, not malice (docs/security.md)
};
static_assert(sizeof(Header) == header_size);

// Adds the layout of memory that the plan's code shares with the runtime: the session's words, and the tables for
// unwinding and symbols. The plan contains the code, but the runtime that loads the plan compiles the tables. sonde
// must compute the same number on each machine.
void add_shared_layout(Hash& hash, const Architecture& machine) {
    for (uint64_t number :
         {sizeof(SessionWords), offsetof(SessionWords, tai_offset_ns), sizeof(sonde_table_head),
          sizeof(sonde_table_row), sizeof(sonde_stacks), sizeof(sonde_rules), sizeof(sonde_shared),
          sizeof(sonde_dispatch), sizeof(sonde_mapping), sizeof(sonde_new_mapping), sizeof(sonde_python),
          sizeof(sonde_ruby), sizeof(sonde_php), sizeof(sonde_javascript), sizeof(sonde_java),
          sizeof(sonde_interpreted_name), sizeof(sonde_frame_cache), sizeof(sonde_python_cache)})
        hash.add(number);
    for (uint64_t number : std::initializer_list<uint64_t>{
             SONDE_RULE_STEPS, SONDE_RULE_ALONE, SONDE_RULE_NARROW, SONDE_RULE_CFA_MOST, SONDE_RULE_FP_OF_GO,
             SONDE_REGISTERS, SONDE_SAVED_BEYOND, SONDE_STEP_KINDS, SONDE_STEPS_MOST, SONDE_STEP_WORDS,
             SONDE_STACK_STATES, SONDE_VDSO_FILE_32, SONDE_SYMBOL_BUILD_ID, short_key})
        hash.add(number);
    for (const Architecture* programs : {&machine, machine.narrow()})
        for (uint64_t saved : programs ? programs->unwind_traits().saved : std::span<const uint64_t>())
            hash.add(saved);
    for (const HazardTraits& hazard : machine.hazards())
        hash.add(std::span(reinterpret_cast<const uint8_t*>(hazard.name), std::strlen(hazard.name)));
}

// The version of the format. It changes with the list of fields and with the layout of memory shared with the plan's
// code.
uint64_t shape_of_plans(const Architecture& machine) {
    Describer describer;
    Plan plan;
    fields(describer, plan);
    add_shared_layout(describer.hash, machine);
    return describer.hash.value();
}

uint64_t hash_of(std::span<const uint8_t> bytes) {
    Hash hash;
    hash.add(bytes);
    return hash.value();
}

void write_header(std::vector<uint8_t>& file, uint16_t machine) {
    const Architecture* architecture = architecture_of(machine, false);
    CHECK(architecture && file.size() >= sizeof(Header));
    auto contents = std::span<const uint8_t>(file).subspan(sizeof(Header));
    Header header{{}, machine, shape_of_plans(*architecture), contents.size(), hash_of(contents)};
    std::memcpy(header.magic, magic, sizeof magic);
    std::memcpy(file.data(), &header, sizeof header);
}

} // namespace

std::vector<uint8_t> save(const Plan& plan) {
    Writer writer;
    writer.out.resize(sizeof(Header));
    Plan copy = plan;
    fields(writer, copy);
    std::vector<uint8_t> out = std::move(writer.out);
    write_header(out, plan.machine);
    return out;
}

std::vector<uint8_t> save_global(const Global& global) {
    Writer writer;
    Global copy = global;
    members(writer, copy);
    return std::move(writer.out);
}

Result<Global> load_global(std::span<const uint8_t> bytes) {
    Reader reader(bytes);
    Global out;
    members(reader, out);
    if (!reader.ok() || !reader.at_end())
        return Error("internal: a global is corrupt");
    return out;
}

void seal(std::vector<uint8_t>& file) { write_header(file, host_architecture().machine()); }

Result<Plan> load(std::span<const uint8_t> bytes, const Architecture& machine) {
    Header header;
    if (bytes.size() < sizeof magic || std::memcmp(bytes.data(), magic, sizeof magic) != 0)
        return Error("it is not a saved plan");
    if (bytes.size() < sizeof header)
        return Error("it is truncated: it ends in its header");
    std::memcpy(&header, bytes.data(), sizeof header);
    const Architecture* other =
        header.machine <= UINT16_MAX ? architecture_of(static_cast<uint16_t>(header.machine), false) : nullptr;
    if (other && other != &machine)
        return Error(
            fmt::format("it is for {}; this machine is {}\n  run it on such a machine, or translate the script "
                        "again for this one",
                        other->name(), machine.name()));
    if (!other || header.shape != shape_of_plans(machine))
        return Error("another version of sonde saved it; translate the script again with this version");
    std::span<const uint8_t> contents = bytes.subspan(sizeof header);
    if (header.size != contents.size())
        return Error(fmt::format("it is {}: its header declares {} bytes, but it has {}",
                                 contents.size() < header.size ? "truncated" : "corrupt", header.size,
                                 contents.size()));
    if (header.hash != hash_of(contents))
        return Error("it is corrupt: its checksum does not match its contents");
    Reader reader(contents);
    Plan plan;
    plan.machine = machine.machine();
    fields(reader, plan);
    if (!reader.ok() || !reader.at_end())
        return Error("it is corrupt: its parts do not match its size");
    if (Result<void> checked = check(plan); !checked)
        return std::move(checked).error();
    return plan;
}

Result<void> save_file(const Plan& plan, const std::string& path) {
    std::vector<uint8_t> bytes = save(plan);
    return replace_file(path, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Result<Plan> load_file(const std::string& path) {
    Result<std::string> text = read_code_file(path);
    if (!text)
        return std::move(text).error().in(fmt::format("cannot run `{}`", path));
    Result<Plan> plan = load(std::span(reinterpret_cast<const uint8_t*>(text->data()), text->size()));
    if (!plan)
        return std::move(plan).error().in(fmt::format("cannot run `{}`", path));
    return plan;
}

} // namespace sonde::plan

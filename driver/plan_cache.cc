// An entry is a magic text, the key with its length, and the plan as in a FILE.sonde. load() compares the whole key. So
// an entry of another script with the same hash is ignored.
#include "driver/plan_cache.h"

#include <link.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/elf_notes.h"
#include "base/hash.h"
#include "base/trusted_file.h"
#include "codegen/emit/c_code.h"
#include "frontend/hir/identity.h"
#include "runtime/plan/plan_file.h"
#include "stdlib/stdlib.h"

namespace sonde {
namespace {

constexpr std::string_view magic = "sonde cache\n";
constexpr size_t largest_entry = 64 << 20; // bytes

// ---- the key

class KeyText {
  public:
    void add(std::string_view text) {
        number(text.size());
        out_ += text;
    }
    template <typename T> void number(T value) {
        const auto wide = static_cast<uint64_t>(value);
        out_.append(reinterpret_cast<const char*>(&wide), sizeof wide);
    }
    std::string take() { return std::move(out_); }

  private:
    std::string out_;
};

// Returns the build-id of a loaded file; empty if the file has no build-id.
std::string_view build_id_of(const dl_phdr_info& info) {
    for (const ElfW(Phdr) & segment : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
        if (segment.p_type != PT_NOTE)
            continue;
        const std::string_view notes(reinterpret_cast<const char*>(info.dlpi_addr + segment.p_vaddr), segment.p_memsz);
        if (const std::string_view id = find_build_id(notes, segment.p_align); !id.empty())
            return id;
    }
    return {};
}

// Returns the build-ids of sonde and its loaded libraries, above all LLVM. Empty if one of them has no build-id: then
// sonde cannot notice that the file was replaced.
std::string own_builds() {
    struct Builds {
        std::string ids;
        bool all = true;
    } builds;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
            const std::string_view id = build_id_of(*info);
            auto& found = *static_cast<Builds*>(out);
            found.ids += id;
            found.all = found.all && !id.empty();
            return 0;
        },
        &builds);
    return builds.all ? builds.ids : "";
}

// The key is the whole input of pass 3 as bytes. Each text has its length in front, so that ("ab", "c") and ("a", "bc")
// are different keys.
std::string make_key(const Options& options, const hir::Program& program, const Sources& sources,
                     const CodegenFacts& facts, const TaskArrays& in_tasks, const std::string& builds) {
    KeyText key;
    key.add(builds);
    key.add(options.driver.sysroot); // the machine is in the plan below
    // A new fact does not compile until it is named here. `module` is not part of the key: without -m it has the
    // process number, and with -m it is among the options.
    const auto& [architecture, may_goto, kernel_types, syscall_events, uprobe_session, target_program, groups, script,
                 module, c_code, kernel, origin, flight_chunks] = facts;
    for (bool flag : {may_goto, kernel_types, syscall_events, uprobe_session})
        key.number(flag);
    for (const hir::Global* global : program.globals)
        key.number(in_tasks.contains(global));
    key.add(target_program);
    key.number(flight_chunks);
    key.add(c_code ? c_code->bitcode : ""); // contains the offsets of the kernel's types
    key.add(script);
    for (FileId file = 1; file <= sources.last(); file++) {
        key.add(sources.name(file));
        if (file > stdlib_files().size()) // the earlier ones are part of the build
            key.add(sources.text(file));
    }
    key.add(hir::identity(program));
    // Some parts get into a plan unchanged. Serialize them by saving a plan that has only these parts.
    plan::Plan rest;
    rest.machine = architecture->machine();
    rest.translate = options.translate;
    rest.groups = groups;
    rest.kernel = kernel;
    rest.origin = origin;
    for (const hir::Handler* handler : program.handlers) {
        plan::Probe& probe = rest.probes.emplace_back();
        probe.kind = handler->kind;
        probe.points = handler->points;
    }
    rest.counters = program.counters;
    rest.files = program.files;
    const std::vector<uint8_t> bytes = plan::save(rest);
    key.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return key.take();
}

} // namespace

PlanCache::PlanCache(const Options& options, const hir::Program& program, const Sources& sources,
                     const CodegenFacts& facts, const TaskArrays& in_tasks)
    : reads_(options.driver.cache == Cache::On), tells_(options.driver.verbose[2] > 0),
      has_own_name_(!options.translate.module.empty()), architecture_(facts.architecture), module_(facts.module) {
    // --dump and -p3 print the code, so it has to be generated.
    if (options.driver.cache == Cache::Off || !options.driver.dump.empty() || options.driver.last_pass == 3)
        return;
    if (has_lent_rights()) {
        tell("sonde's file has capabilities that its user has not, and an entry has native code");
        return;
    }
    const std::string builds = own_builds();
    Result<CacheFolder> folder =
        builds.empty() ? Result<CacheFolder>(Error("this build of sonde, or one of its libraries, has no build-id"))
                       : CacheFolder::open();
    if (!folder) {
        tell(folder.error().message);
        return;
    }
    folder_ = *std::move(folder);
    key_ = make_key(options, program, sources, facts, in_tasks, builds);
    Hash hash;
    hash.add({reinterpret_cast<const uint8_t*>(key_.data()), key_.size()});
    name_ = fmt::format("{:016x}{}", hash.value(), CacheFolder::plan_suffix);
}

void PlanCache::tell(const std::string& why) const {
    if (tells_)
        fmt::print(stderr, "Pass 3: no cache: {}\n", why);
}

std::optional<plan::Plan> PlanCache::load() {
    if (!folder_ || !reads_)
        return {};
    Result<std::string> text = folder_->read(name_);
    if (!text) {
        if (text.error().os_error != ENOENT)
            tell(text.error().message);
        return {};
    }
    std::string_view rest = *text;
    uint64_t key_size = 0;
    const size_t key_at = magic.size() + sizeof key_size;
    if (rest.size() >= key_at)
        std::memcpy(&key_size, rest.data() + magic.size(), sizeof key_size);
    if (!rest.starts_with(magic) || rest.size() < key_at || key_size != key_.size() ||
        rest.substr(key_at, key_size) != key_)
        return {}; // damaged, or another key with the same hash; store() replaces it
    rest.remove_prefix(key_at + key_size);
    Result<plan::Plan> plan = plan::load({reinterpret_cast<const uint8_t*>(rest.data()), rest.size()}, *architecture_);
    if (!plan) {
        tell(fmt::format("`{}`: {}", path(), plan.error().message));
        return {};
    }
    folder_->note_use(name_);
    plan->module = module_;
    return *std::move(plan);
}

void PlanCache::store(const plan::Plan& plan) {
    if (!folder_ || (plan.names_module && !has_own_name_))
        return;
    const std::vector<uint8_t> bytes = plan::save(plan);
    if (key_.size() + bytes.size() > largest_entry)
        return;
    const uint64_t key_size = key_.size();
    std::string data(magic);
    data.append(reinterpret_cast<const char*>(&key_size), sizeof key_size);
    data += key_;
    data.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (Result<void> done = folder_->write(name_, data); !done)
        tell(done.error().message);
}

} // namespace sonde

// How an address becomes a name.
//
// 1. find() searches the mappings of the process, which handlers have reported (add_mapping). For an address that no
//   handler has met, it reads /proc/PID/maps (add_process).
// 2. The mapping has the inode of its file, and files_ has the open file. The address is converted to the address as
//   linked.
// 3. Functions, lines and inlined functions of the file are read on first use, since most files of a process are never
//   needed.
// 4. An address outside all files may be code of a JIT compiler (text_of_made_code).
//
// The hard part is the file. When a handler reports a mapping, the process may be in another mount namespace, or may
// have ended, and its file may be deleted. So find_file() tries /proc/PID/map_files first, which always leads to the
// right file while the process exists. Then it tries the path in all mounts of this namespace. Both results are
// checked: the kernel must confirm that the opened file has the inode of the mapping. Without this check, a new version
// of a library at the same path would give wrong names.
//
// A file that cannot be read is not kept open, so its inode may be reused. The `edition` of a mapping tells the two
// files apart (unreadable_).
#include "runtime/symbols/symbols.h"
#include "runtime/plan/object_names.h"

#include <bpf/bpf.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/elf_file.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/process_maps.h"
#include "base/shared_libraries.h"
#include "runtime/plan/file_table.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/stack_copy.h"
#include "runtime/plan/visited_threads.h"
#include "runtime/symbols/arguments.h"
#include "runtime/symbols/async_functions.h"
#include "runtime/symbols/copied_stack.h"
#include "runtime/symbols/frames.h"
#include "runtime/symbols/table.h"
#include "runtime/symbols/unwind_rows.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

constexpr size_t page_size = 4096;
constexpr const char* vdso_name = "[vdso]"; // the name in /proc/PID/maps

// Maps the first page of a file, to keep its inode in use while the file is known.
class Page {
  public:
    explicit Page(int fd) : memory_(mmap(nullptr, page_size, PROT_READ, MAP_PRIVATE, fd, 0)) {}
    ~Page() {
        if (memory_ != MAP_FAILED)
            munmap(memory_, page_size);
    }
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;
    void* memory() const { return memory_ == MAP_FAILED ? nullptr : memory_; }

  private:
    void* memory_;
};

// Returns the readable paths that may lead to a file. `inner_path` is relative to an unknown file system.
// /proc/self/mountinfo lists each mount's root in its file system and its mount point (proc_pid_mountinfo(5)).
std::vector<std::string> paths_in_mounts(const std::string& inner_path) {
    std::vector<std::string> out;
    Result<std::string> mounts = inner_path.empty() ? Result<std::string>("") : read_file("/proc/self/mountinfo");
    std::istringstream lines(mounts ? *mounts : "");
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string skipped, root, folder;
        if (!(fields >> skipped >> skipped >> skipped >> root >> folder))
            continue;
        if (root == "/")
            root.clear();
        if (folder == "/")
            folder.clear();
        if (!inner_path.starts_with(root + "/"))
            continue;
        std::string path = folder + inner_path.substr(root.size());
        if (access(path.c_str(), R_OK) == 0)
            out.push_back(path);
    }
    return out;
}

// Process numbers from here on stand for shared stacks. They cannot be PIDs, since PID_MAX_LIMIT is 2^22.
constexpr uint64_t first_stack = 1ull << 32;

bool is_kernel_address(uint64_t address) { return static_cast<int64_t>(address) < 0; }

// Reads the memory of a process. Returns fewer bytes if the rest is not mapped.
std::string read_memory(int64_t process, uint64_t address, uint64_t size) {
    std::string out(size, '\0');
    Result<Fd> memory = open_file(fmt::format("/proc/{}/mem", process), O_RDONLY);
    ssize_t got = memory ? pread(memory->get(), out.data(), size, static_cast<off_t>(address)) : 0;
    out.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return out;
}

// Returns SONDE_VDSO_FILE or SONDE_VDSO_FILE_32, by the ELF class of the vDSO.
uint64_t vdso_file(int64_t process, uint64_t start) {
    const std::string head = read_memory(process, start, EI_CLASS + 1);
    return head.size() > EI_CLASS && head[EI_CLASS] == ELFCLASS32 ? SONDE_VDSO_FILE_32 : SONDE_VDSO_FILE;
}

// Returns a new map with the contents of a table; an empty Fd on failure.
Fd map_of(const std::vector<uint64_t>& table) {
    bpf_map_create_opts options{};
    options.sz = sizeof options;
    options.map_flags = SONDE_TABLE_FLAGS;
    Fd map(bpf_map_create(BPF_MAP_TYPE_ARRAY, "sonde_table", 4, 8, static_cast<uint32_t>(table.size()), &options));
    void* memory = map ? mmap(nullptr, table.size() * 8, PROT_READ | PROT_WRITE, MAP_SHARED, map.get(), 0) : MAP_FAILED;
    if (memory == MAP_FAILED)
        return Fd();
    std::memcpy(memory, table.data(), table.size() * 8);
    munmap(memory, table.size() * 8);
    return map;
}

// Returns the last row at or before an address, or null.
template <typename Row> const Row* last_before(const std::vector<Row>& rows, uint64_t address) {
    auto next = std::upper_bound(rows.begin(), rows.end(), address,
                                 [](uint64_t wanted, const Row& row) { return wanted < row.address; });
    return next == rows.begin() ? nullptr : &*(next - 1);
}

} // namespace

std::string join_names(const sonde_new_mapping& mapping) {
    std::string out;
    for (const char* name : mapping.names) {
        size_t size = strnlen(name, SONDE_NAME_SIZE);
        if (size == 0)
            return out;
        if (size >= SONDE_NAME_SIZE - 1)
            break; // the name was cut
        out = fmt::format("/{}{}", std::string_view(name, size), out);
    }
    return "";
}

struct Symbols::File {
    std::string path;      // as output shows it
    std::string open_path; // by which it was opened; a path through a process is valid as long as the process exists
    ElfFile elf;
    std::unique_ptr<Page> page;
    uint64_t inode = 0;
    std::optional<std::vector<FunctionSymbol>> functions;
    std::optional<LineFinder> lines;
    std::optional<InlineFinder> inlined;
    std::optional<ArgumentFinder> arguments;
    std::vector<uint64_t> table; // only if the session unwinds stacks, too
    std::optional<AsyncFunctionFinder> async = {};
    std::set<std::string> told = {}; // messages about debug information that were printed

    // Calls `use(problems)` to read debug information, and prints each problem once.
    template <typename Use> void with_debug_information(Use use) {
        std::vector<std::string> problems;
        use(problems);
        for (const std::string& problem : problems)
            if (told.insert(problem).second)
                warn(problem);
    }
    const FunctionSymbol* function(uint64_t address) {
        if (!functions)
            functions = read_functions(elf);
        const FunctionSymbol* found = last_before(*functions, address);
        return found && address - found->address < found->size ? found : nullptr;
    }
    std::optional<LineFinder::Line> line(uint64_t address) {
        if (!lines)
            with_debug_information([&](auto& problems) { lines.emplace(elf, problems); });
        return lines->find(address);
    }
    std::string async_functions(uint64_t address) {
        if (!async)
            with_debug_information([&](auto& problems) { async.emplace(elf, problems); });
        const std::optional<LineFinder::Line> place = line(address);
        return async->lines(address, place ? fmt::format("{}:{}", place->file, place->line) : "");
    }
    // A path by which another process can open the file.
    std::string path_for_others() const {
        struct stat own = {}, named = {};
        const bool is_same = fstat(elf.fd(), &own) == 0 && stat(path.c_str(), &named) == 0 &&
                             own.st_dev == named.st_dev && own.st_ino == named.st_ino;
        return is_same ? path : open_path;
    }
    uint64_t lowest() const {
        uint64_t out = UINT64_MAX;
        for (const ElfSegment& segment : elf.segments())
            out = std::min(out, segment.address);
        return out;
    }
    uint64_t size() const {
        uint64_t highest = 0;
        for (const ElfSegment& segment : elf.segments())
            highest = std::max(highest, segment.address + segment.memory_size);
        return highest - lowest();
    }
};

struct Symbols::Found {
    File* file = nullptr;
    uint64_t address = 0; // as linked
};

Symbols::Symbols() = default;
Symbols::~Symbols() = default;

void Symbols::begin(const plan::Plan& plan, const KernelObject& kernel, const std::vector<std::string>& programs,
                    int64_t process) {
    if (!plan.tables)
        return;
    kernel_ = &kernel;
    tables_ = plan.tables;
    begin_kernel(plan);
    if (!(tables_ & (plan::looked_up & ~plan::KernelNames)))
        return;
    shared_.begin(kernel, plan.max_string);
    interpreted_.begin(kernel, static_cast<uint32_t>(plan.pythons.size()));
    keeps_tables_ = visits_threads(plan) || plan::copies_stacks(plan);
    if (visits_threads(plan))
        thread_stacks_ = std::make_unique<ThreadStacks>(*this, kernel);
    for (const ProcessMapping& row : read_own_maps())
        if (row.path == vdso_name)
            find_vdso({0, row.start, row.end, 0, vdso_file(getpid(), row.start), 0}, getpid());
    if (process)
        add_process(static_cast<uint64_t>(kernel.numbers().in_kernel(process)));
    for (const std::string& program : programs)
        add_program(program);
    for (const plan::Point& point : plan.rows)
        add_program(point.path);
    give_tables();
}

// Reads the kernel's symbols before any handler runs. A module may be unloaded before its addresses are printed.
void Symbols::begin_kernel(const plan::Plan& plan) {
    if (!(tables_ & plan::KernelStacks))
        return;
    kernel_symbols_.read();
    if (kernel_symbols_.hidden()) {
        warn("the kernel hides the addresses of its symbols, so its functions have no names in stacks; run `sysctl "
             "kernel.kptr_restrict=1` and sonde as root");
        return;
    }
    if (tables_ & plan::KernelNames)
        if (std::vector<uint64_t> table = kernel_symbols_.compile(); !table.empty())
            if (Fd map = map_of(table)) {
                uint64_t key = SONDE_KERNEL_FILE;
                int value = map.get();
                bpf_map_update_elem(kernel_->map_fd(plan::maps::files), &key, &value, BPF_ANY);
            }
    int dispatch = kernel_->map_fd(plan::maps::dispatch);
    std::map<std::string, std::pair<uint64_t, uint64_t>> known;
    auto range = [&](const std::string& name) {
        auto [entry, fresh] = known.try_emplace(name);
        if (fresh)
            entry->second = kernel_symbols_.find(name);
        return entry->second;
    };
    // For each tracepoint, tell handlers which kernel functions lead from the tracepoint to the handler. Kernel stacks
    // omit them.
    for (const plan::Probe& probe : plan.probes) {
        if (!plan::is_about(probe.kind, plan::Subject::Tracepoint))
            continue;
        for (const plan::Point& point : probe.points) {
            sonde_dispatch row{};
            // kernel/trace/bpf_trace.c defines bpf_trace_run1 to bpf_trace_run12 in one sequence.
            auto first = range("bpf_trace_run1"), last = range("bpf_trace_run12");
            auto typed = range("__bpf_trace_" + point.symbol), iterator = range("__traceiter_" + point.symbol);
            row.range[0][0] = std::min(first.first, last.first);
            row.range[0][1] = std::max(first.second, last.second);
            row.range[1][0] = typed.first, row.range[1][1] = typed.second;
            row.range[2][0] = iterator.first, row.range[2][1] = iterator.second;
            bpf_map_update_elem(dispatch, &point.row, &row, BPF_ANY);
        }
    }
}

// Handlers need the tables of libraries before the program runs: the first hit can come microseconds after its start.
// So sonde repeats the search of the dynamic linker, instead of waiting until the program maps the files. The result is
// a guess if a program sets LD_LIBRARY_PATH for another one. A missing library costs only the first stacks: handlers
// report its mapping, and the table follows. A library that is never mapped costs memory.
void Symbols::add_program(const std::string& path) {
    if (path.empty() || !programs_.insert(path).second || !add_file(path, path))
        return;
    const std::string root = process_root(path);
    for (const std::string& library : shared_libraries(path, host_architecture().library_search())) {
        std::error_code error;
        const std::string real = std::filesystem::canonical(library, error); // as in /proc/PID/maps
        if (!root.empty() && library.starts_with(root))
            add_file(library, library.substr(root.size()));
        else if (!error)
            add_file(real, real);
    }
}

// Returns the address of the inode of a mapped page, or 0 on failure. Runs a BPF program that looks up the page's
// mapping.
uint64_t Symbols::ask_inode(const void* page) {
    uint64_t context[1] = {reinterpret_cast<uint64_t>(page)};
    bpf_test_run_opts run{};
    run.sz = sizeof run;
    run.ctx_in = context;
    run.ctx_size_in = sizeof context;
    auto* words = reinterpret_cast<plan::SessionWords*>(kernel_->data());
    words->asked_file = 0;
    if (bpf_prog_test_run_opts(kernel_->program_fd(plan::programs::ask_file), &run) != 0)
        return 0;
    return __atomic_load_n(&words->asked_file, __ATOMIC_SEQ_CST);
}

Symbols::File* Symbols::add_file(const std::string& open_path, const std::string& path) {
    if (!kernel_)
        return nullptr;
    Result<Fd> fd = open_file(open_path, O_RDONLY);
    if (!fd)
        return nullptr;
    auto page = std::make_unique<Page>(fd->get());
    uint64_t inode = page->memory() ? ask_inode(page->memory()) : 0;
    if (inode == 0)
        return nullptr;
    if (auto known = files_.find(inode); known != files_.end())
        return known->second.get();
    Result<ElfFile> elf = ElfFile::open_any_width(open_path);
    if (!elf) // the process that `open_path` goes through may end at any time
        return nullptr;
    auto& file = files_[inode] =
        std::make_unique<File>(File{path, open_path, *std::move(elf), std::move(page), inode, {}, {}, {}, {}, {}});
    without_table_.push_back(file.get());
    return file.get();
}

// Compiles the parts of the table that the plan needs, and stores them in a new map.
Fd Symbols::make_table(File& file) {
    file.functions = read_functions(file.elf);
    UnwindRules unwind;
    LineTable lines;
    InterpretedFrames::Interpreter interpreter;
    if (tables_ & plan::UnwindTable) {
        unwind = read_unwind_rules(file.elf, *file.functions);
        interpreter = interpreted_.add(file.elf, file.path, unwind);
    }
    if (tables_ & plan::LineTable)
        file.with_debug_information([&](auto& problems) { lines = read_lines(file.elf, problems); });
    InlineTable inlined;
    if (tables_ & SONDE_INLINE_TABLE)
        file.with_debug_information([&](auto& problems) { inlined = read_inlined(file.elf, problems); });
    std::span<const FunctionSymbol> functions = *file.functions;
    if (!(tables_ & plan::SymbolTable))
        functions = {};
    std::vector<uint64_t> table = compile_table(
        file.elf, file.path, {&unwind, functions, &lines, &inlined, interpreter.number, interpreter.loop});
    Fd map = map_of(table);
    if (keeps_tables_)
        file.table = std::move(table);
    return map;
}

void Symbols::give_tables() {
    if (!kernel_) // the script has no kernel handlers
        return;
    std::vector<uint64_t> inodes;
    std::vector<uint32_t> tables;
    std::vector<Fd> owners;
    for (File* file : without_table_)
        if (Fd table = make_table(*file)) {
            inodes.push_back(file->inode);
            tables.push_back(static_cast<uint32_t>(table.get()));
            owners.push_back(std::move(table));
        }
    without_table_.clear();
    auto count = static_cast<uint32_t>(inodes.size());
    bpf_map_batch_opts options{};
    options.sz = sizeof options;
    // Without a table, handlers fall back to frame pointers. Names are not affected, because the runtime looks them up.
    if (count)
        bpf_map_update_batch(kernel_->map_fd(plan::maps::files), inodes.data(), tables.data(), &count, &options);
}

void Symbols::add_mapping(const sonde_mapping& mapping, const std::string& inner_path) {
    rendered_.forget(mapping.process);
    edition_++;
    std::vector<sonde_mapping>& known = mappings_[mapping.process];
    // The new mapping replaces older ones that it overlaps.
    std::erase_if(known, [&](const sonde_mapping& old) { return old.start < mapping.end && mapping.start < old.end; });
    known.push_back(mapping);
    std::erase(processes_, mapping.process);
    processes_.push_back(mapping.process);
    if (!jit_.contains(mapping.process))
        jit_.try_emplace(mapping.process, number_here(mapping.process));
    // A file that could not be read is not kept mapped. Its inode may now belong to another file, with another edition.
    const auto unreadable = unreadable_.find(mapping.inode);
    if (unreadable != unreadable_.end() && unreadable->second != mapping.edition) {
        unreadable_.erase(unreadable);
        files_.erase(mapping.inode);
    }
    if (files_.count(mapping.inode))
        return;
    if (!find_file(mapping, inner_path) && files_.try_emplace(mapping.inode).second)
        unreadable_.emplace(mapping.inode, mapping.edition);
    give_tables();
}

int64_t Symbols::number_here(uint64_t process) const {
    auto number = static_cast<int64_t>(process);
    return kernel_ ? kernel_->numbers().in_session(number) : number;
}

uint64_t Symbols::process_of_stack(const std::string& text) {
    if (const auto known = stacks_.find(text); known != stacks_.end())
        return known->second;
    const std::optional<SharedStacks::Stack> stack = shared_.find(text);
    if (!stack)
        return 0;
    const uint64_t out = first_stack + first_processes_.size();
    first_processes_.push_back(stack->process);
    stacks_.emplace(text, out);
    // Each address becomes a small mapping. It includes the previous byte, since the lookup for a return address uses
    // the call before it.
    const std::vector<uint64_t> addresses = addresses_in(text);
    for (size_t i = 0; i < std::min(addresses.size(), stack->places.size()); i++) {
        const auto [inode, offset] = stack->places[i];
        if (inode)
            mappings_[out].push_back({out, addresses[i] - 1, addresses[i] + 1, offset - 1, inode, 0});
    }
    return out;
}

uint64_t Symbols::real_process(uint64_t process) const {
    return process < first_stack ? process : first_processes_[process - first_stack];
}

// Opens the file of a mapping, and checks that its inode is the right one.
bool Symbols::find_file(const sonde_mapping& mapping, const std::string& inner_path) {
    if (mapping.inode == SONDE_VDSO_FILE || mapping.inode == SONDE_VDSO_FILE_32)
        return find_vdso(mapping, number_here(mapping.process));
    // First try the process's own view of the file. The path alone may name another file here, or a deleted one.
    std::string link =
        fmt::format("/proc/{}/map_files/{:x}-{:x}", number_here(mapping.process), mapping.start, mapping.end);
    char path[4096];
    ssize_t size = readlink(link.c_str(), path, sizeof path);
    File* file = size > 0 ? add_file(link, std::string(path, static_cast<size_t>(size))) : nullptr;
    if (file && file->inode == mapping.inode)
        return true;
    // The process may have ended. Its file may still exist.
    for (const std::string& candidate : paths_in_mounts(inner_path))
        if (file = add_file(candidate, candidate); file && file->inode == mapping.inode)
            return true;
    return false;
}

bool Symbols::find_vdso(const sonde_mapping& mapping, int64_t here) {
    constexpr uint64_t most = 1 << 20;
    const std::string image = read_memory(here, mapping.start, std::min<uint64_t>(mapping.end - mapping.start, most));
    Fd fd(memfd_create("vdso", MFD_CLOEXEC));
    if (!fd || image.empty() || write(fd.get(), image.data(), image.size()) != static_cast<ssize_t>(image.size()))
        return false;
    Result<ElfFile> elf = ElfFile::open_any_width(fmt::format("/proc/self/fd/{}", fd.get()));
    if (!elf)
        return false;
    auto& file = files_[mapping.inode] =
        std::make_unique<File>(File{vdso_name, "", *std::move(elf), nullptr, mapping.inode, {}, {}, {}, {}, {}});
    without_table_.push_back(file.get());
    return true;
}

// Reads the executable mappings of a running process from /proc/PID/maps.
void Symbols::add_process(uint64_t process) {
    if (!read_.try_emplace(process, true).second)
        return;
    int64_t here = number_here(process);
    for (const ProcessMapping& row : read_process_maps(here)) {
        const bool vdso = row.path == vdso_name;
        if (!row.executable || (!row.has_file() && !vdso))
            continue;
        File* file =
            vdso ? nullptr : add_file(fmt::format("/proc/{}/map_files/{:x}-{:x}", here, row.start, row.end), row.path);
        if (!file && !vdso)
            continue;
        sonde_mapping mapping{};
        mapping.process = process;
        mapping.start = row.start;
        mapping.end = row.end;
        mapping.offset = row.offset;
        mapping.inode = vdso ? vdso_file(here, row.start) : file->inode;
        add_mapping(mapping, "");
    }
    give_tables();
}

const sonde_mapping* Symbols::find_mapping(uint64_t process, uint64_t address) const {
    auto of = mappings_.find(process);
    if (of == mappings_.end())
        return nullptr;
    for (const sonde_mapping& mapping : of->second)
        if (address >= mapping.start && address < mapping.end)
            return &mapping;
    return nullptr;
}

Symbols::Found Symbols::find(uint64_t process, uint64_t address) {
    const sonde_mapping* mapping = process ? find_mapping(process, address) : nullptr;
    if (process >= first_stack && !mapping) {
        process = real_process(process);
        mapping = find_mapping(process, address);
    }
    if (process && !mapping) {
        // No handler has reported the mapping: the script may have got the address from elsewhere.
        add_process(process);
        mapping = find_mapping(process, address);
    }
    for (size_t i = processes_.size(); !process && !mapping && i-- > 0;)
        mapping = find_mapping(processes_[i], address);
    auto file = mapping ? files_.find(mapping->inode) : files_.end();
    if (file == files_.end() || !file->second)
        return {};
    std::optional<uint64_t> linked = file->second->elf.address_of_offset(address - mapping->start + mapping->offset);
    return linked ? Found{file->second.get(), *linked} : Found{};
}

std::string Symbols::source(uint64_t process, uint64_t address) {
    Found found = is_kernel_address(address) ? Found() : find(process, address);
    std::optional<LineFinder::Line> line = found.file ? found.file->line(found.address) : std::nullopt;
    return line ? fmt::format("{}:{}", line->file, line->line) : "";
}

std::vector<InlinedCall> Symbols::inlined(uint64_t process, uint64_t address) {
    Found found = is_kernel_address(address) ? Found() : find(process, address);
    if (!found.file)
        return {};
    if (!found.file->inlined)
        found.file->with_debug_information(
            [&](auto& problems) { found.file->inlined.emplace(found.file->elf, problems); });
    return found.file->inlined->find(found.address);
}

VisitedStack Symbols::visited_stack(uint64_t process, uint64_t thread, uint64_t most, bool with_arguments) {
    if (!visited_ || visited_->process != process || visited_->thread != thread || visited_->most != most) {
        visited_.emplace(Visited{process, thread, most, thread_stacks_->read(process, thread, most), {}});
        const ThreadStack& stack = visited_->stack;
        visited_->told = {stack.none, stack.doing, stack.process, stack.state, {}};
        for (const ThreadFrame& frame : stack.frames)
            visited_->told.frames.push_back({frame.address, {}});
    }
    if (with_arguments && !std::exchange(visited_->has_arguments, true))
        for (size_t i = 0; i < visited_->stack.frames.size(); i++)
            visited_->told.frames[i].arguments = arguments(visited_->stack, visited_->stack.frames[i], i > 0);
    return visited_->told;
}

CallerValues Symbols::caller_values(uint64_t process, const std::vector<uint64_t>& addresses) {
    if (!describe_frames_ || !kernel_)
        return {.none = "the stack was not copied"};
    if (caller_values_ && caller_values_->first == addresses)
        return caller_values_->second;
    Result<CopiedStack> stack = read_copied_stack(*kernel_, *this, process, addresses.size());
    if (!stack)
        return {.none = stack.error().message};
    CallerValues out;
    out.is_cut = stack->left_out > 0;
    plan::StackCopy& copy = stack->copy;
    std::vector<plan::StackFrame> walked = std::exchange(copy.frames, {});
    // Functions of interpreters are only in the handler's stack.
    size_t next = 0;
    for (const uint64_t address : addresses) {
        FrameValues& values = out.frames.emplace_back();
        plan::StackFrame& frame = copy.frames.emplace_back();
        if (interpreted_.describe(address))
            continue;
        if (next >= walked.size() || stack->addresses[next] != address) {
            next = walked.size();
            values.none = "its registers are unknown, because sonde could not unwind the copy of the stack up to here";
            continue;
        }
        frame = walked[next++];
        const Found found = find(process, address - !frame.is_innermost);
        if (!found.file)
            values.none = "its code is in no file";
        else if (found.file->elf.is_32_bit())
            values.none = "sonde does not evaluate variables of callers in 32-bit programs";
        else if (found.file->path == vdso_name)
            values.none = "there is no debug information";
        else
            frame.path = found.file->path_for_others();
        frame.address = found.address;
    }
    std::vector<FrameValues> described = describe_frames_(copy);
    for (size_t i = 0; i < std::min(described.size(), out.frames.size()); i++)
        if (!copy.frames[i].path.empty())
            out.frames[i] = std::move(described[i]);
    caller_values_.emplace(addresses, out);
    return out;
}

std::vector<std::string> Symbols::arguments(const ThreadStack& stack, const ThreadFrame& frame, bool after_call) {
    const uint64_t address = frame.address - after_call;
    const Found found = find(stack.process, address);
    if (!found.file || !frame.registers)
        return {};
    if (!found.file->arguments)
        found.file->with_debug_information(
            [&](auto& problems) { found.file->arguments.emplace(found.file->elf, problems); });
    return found.file->arguments->find(found.address, address - found.address, !after_call, *frame.registers,
                                       stack.read);
}

void Symbols::read_mappings(uint64_t process) {
    read_.erase(process);
    add_process(process);
}

uint64_t Symbols::file_at(uint64_t process, uint64_t address) const {
    const sonde_mapping* mapping = find_mapping(process, address);
    return mapping ? mapping->inode : 0;
}

std::span<const uint64_t> Symbols::table_of(uint64_t inode) const {
    const auto file = files_.find(inode);
    return file == files_.end() || !file->second ? std::span<const uint64_t>() : file->second->table;
}

Rendered& Symbols::rendered() {
    for (auto& [process, names] : jit_)
        if (names.is_in_use())
            read_on(process, names);
    return rendered_;
}

void Symbols::read_on(uint64_t process, JitNames& names) {
    if (!names.read_on())
        return;
    rendered_.forget(process);
    edition_++;
    for (size_t i = 0; i < first_processes_.size(); i++)
        if (first_processes_[i] == process)
            rendered_.forget(first_stack + i);
}

std::string Symbols::text_of_made_code(uint64_t process, uint64_t address, uint64_t style) {
    const uint64_t inside = address - (style & SONDE_BEHIND_CALL ? 1 : 0);
    style &= SONDE_SYMBOL_STYLE;
    const auto of_process = [&](uint64_t one) -> std::string {
        auto names = style >= SONDE_SYMBOL_LINE ? jit_.end() : jit_.find(one);
        if (names == jit_.end())
            return "";
        read_on(one, names->second);
        const FunctionSymbol* function = names->second.find(inside);
        if (!function)
            return "";
        std::string out = function->name;
        if (style == SONDE_SYMBOL_NAME)
            return out;
        out += fmt::format("+{:#x}", address - function->address);
        if (style == SONDE_SYMBOL_DATA)
            out += fmt::format("/{:#x}", function->size);
        return style == SONDE_SYMBOL_BRIEF ? out : fmt::format("{} [{}]", out, names->second.path());
    };
    process = real_process(process);
    std::string out = process ? of_process(process) : "";
    for (size_t i = processes_.size(); !process && out.empty() && i-- > 0;)
        out = of_process(processes_[i]);
    return out.empty() ? fmt::format("{:#x}", address) : out;
}

// The styles that describe the file need no function. The others differ in the text after the function's name.
std::string Symbols::text(uint64_t process, uint64_t address, uint64_t style) {
    const bool behind_call = style & SONDE_BEHIND_CALL;
    style &= SONDE_SYMBOL_STYLE;
    const std::string hex = fmt::format("{:#x}", address);
    if (std::optional<std::string> interpreted = interpreted_.text(address, style))
        return *std::move(interpreted);
    if (style == SONDE_SYMBOL_ASYNC) {
        Found found = is_kernel_address(address) ? Found() : find(process, address - behind_call);
        return found.file ? found.file->async_functions(found.address) : "";
    }
    if (is_kernel_address(address))
        return kernel_symbols_.text(address, style | (behind_call ? SONDE_BEHIND_CALL : 0));
    Found found = find(process, address);
    const bool of_file = style == SONDE_SYMBOL_MODULE || style >= SONDE_SYMBOL_PATH;
    if (!found.file)
        return of_file ? "" : text_of_made_code(process, address, style | (behind_call ? SONDE_BEHIND_CALL : 0));
    const std::string& path = found.file->path;
    if (style == SONDE_SYMBOL_MODULE)
        return path.substr(path.rfind('/') + 1);
    if (style == SONDE_SYMBOL_PATH)
        return path;
    if (style == SONDE_SYMBOL_PLACE)
        return fmt::format("{:#x}", found.address - found.file->lowest());
    if (style == SONDE_SYMBOL_BUILD_ID)
        return found.file->elf.build_id();
    if (style >= SONDE_SYMBOL_LINE) {
        std::optional<LineFinder::Line> line = found.file->line(found.address);
        return !line                        ? hex
               : style == SONDE_SYMBOL_LINE ? std::to_string(line->line)
               : style == SONDE_SYMBOL_FILE ? line->file
                                            : fmt::format("{}:{}", line->file, line->line);
    }
    // A return address may lie just after a function's end, if its last instruction is a call that does not return. So
    // search at the call first.
    const FunctionSymbol* function = behind_call ? found.file->function(found.address - 1) : nullptr;
    if (!function)
        function = found.file->function(found.address);
    if (style == SONDE_SYMBOL_NAME)
        return function ? function->name : hex;
    if (!function)
        return style == SONDE_SYMBOL_BRIEF ? hex
                                           : fmt::format("{} [{}+{:#x}/{:#x}]", hex, path,
                                                         found.address - found.file->lowest(), found.file->size());
    if (const FunctionSymbol* whole = function->moved_from ? found.file->function(function->moved_from) : nullptr)
        function = whole;
    const uint64_t begin = function->address;
    std::string out = found.address < begin ? fmt::format("{}-{:#x}", function->name, begin - found.address)
                                            : fmt::format("{}+{:#x}", function->name, found.address - begin);
    if (style == SONDE_SYMBOL_DATA)
        out += fmt::format("/{:#x}", function->size);
    return style == SONDE_SYMBOL_BRIEF ? out : fmt::format("{} [{}]", out, path);
}

} // namespace sonde

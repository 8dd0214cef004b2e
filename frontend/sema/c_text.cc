// Scans embedded C code. It finds pragmas in comments, skips literals, and records each name with the number of
// arguments at its first use.
//
// sema must know what a piece of C code needs before a C compiler sees it: which functions of the library it calls
// (`STAP_CALL_f(...)`), and which variables of the kernel it reads. The scan does not parse C. It takes every name as a
// use, so it can find too much, which only adds a function that is never called.
//
// The two tables translate names that SystemTap and the kernel offer to C code into what they need here. A use of
// `for_each_online_cpu`, for example, needs the kernel's variable `__cpu_online_mask`.
#include "frontend/sema/c_text.h"

#include <algorithm>
#include <cctype>

namespace sonde {
namespace {

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_word(char c) { return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)); }

class Scan {
  public:
    explicit Scan(std::string_view text) : text_(text) {}

    CNames run() {
        while (at_ < text_.size())
            step();
        return std::move(out_);
    }

  private:
    bool has(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

    // Skips a literal or comment that begins at `at`. Returns false if none begins there.
    bool pass_over(size_t& at) const {
        const std::string_view rest = text_.substr(at);
        if (rest.starts_with("/*"))
            at = std::min(text_.find("*/", at + 2), text_.size() - 2) + 2;
        else if (rest.starts_with("//"))
            at = std::min(text_.find('\n', at), text_.size());
        else if (rest[0] == '"' || rest[0] == '\'')
            for (size_t end = at + 1;; end += 1 + (text_[end] == '\\')) {
                if (end >= text_.size() || text_[end] == rest[0] || text_[end] == '\n') {
                    at = std::min(end + 1, text_.size());
                    break;
                }
            }
        else
            return false;
        return true;
    }

    void step() {
        const size_t begin = at_;
        if (pass_over(at_)) {
            if (text_.substr(begin, 2) == "/*")
                note_pragma(begin);
        } else if (begins_name(text_[at_])) {
            while (at_ < text_.size() && is_word(text_[at_]))
                at_++;
            note_name(std::string(text_.substr(begin, at_ - begin)), begin);
        } else {
            // Letters in a number, as in `0x1f`, are not a name.
            do
                at_++;
            while (is_word(text_[at_ - 1]) && at_ < text_.size() && is_word(text_[at_]));
        }
    }

    // A pragma is the whole text of a block comment: `/* pure */`.
    void note_pragma(size_t begin) {
        std::string_view inside = text_.substr(begin + 2, at_ - begin - 4);
        const size_t first = inside.find_first_not_of(" \t\n"), last = inside.find_last_not_of(" \t\n");
        if (first != std::string_view::npos)
            out_.pragmas.try_emplace(std::string(inside.substr(first, last - first + 1)), begin);
    }

    void note_name(const std::string& name, size_t begin) {
        if (name == "extern" || name == "DECLARE_PER_CPU")
            note_extern(name == "extern" ? ";(" : ")");
        // Spaces may separate a function's name from its parenthesis. Later uses only matter if the first one has no
        // arguments.
        const size_t next = text_.find_first_not_of(" \t\n", at_);
        auto [use, fresh] = out_.uses.try_emplace(name);
        if (fresh)
            use->second.at = begin;
        if (next != std::string_view::npos && text_[next] == '(' && use->second.arguments == 0)
            use->second.arguments = count_arguments(next);
    }

    // Counts the arguments in the parentheses at `at`: commas that are not nested, plus one. Literals and comments may
    // contain any character.
    size_t count_arguments(size_t at) const {
        size_t depth = 0, commas = 0;
        bool any = false;
        while (at < text_.size()) {
            const char c = text_[at];
            if (size_t end = at; pass_over(end)) {
                any = any || c == '"' || c == '\'';
                at = end;
                continue;
            }
            at++;
            const bool closes = c == ')' || c == ']' || c == '}';
            if (closes && --depth == 0)
                break;
            any = any || (depth > 0 && !std::isspace(static_cast<unsigned char>(c)));
            depth += c == '(' || c == '[' || c == '{';
            commas += c == ',' && depth == 1;
        }
        return any ? commas + 1 : 0;
    }

    // Records the last name in `extern TYPE name;`, `extern TYPE name[];` or `DECLARE_PER_CPU(TYPE, name)`, unless it
    // is a function.
    void note_extern(const char* ends) {
        const size_t end = text_.find_first_of(ends, at_);
        if (end == std::string_view::npos || text_[end] == '(')
            return;
        std::string_view declared = text_.substr(at_, end - at_);
        declared = declared.substr(0, declared.find('['));
        size_t last = declared.find_last_not_of(" \t\n");
        if (last == std::string_view::npos)
            return;
        size_t first = last;
        while (first > 0 && is_word(declared[first - 1]))
            first--;
        if (begins_name(declared[first]))
            out_.externs.emplace(declared.substr(first, last - first + 1));
    }

    const std::string_view text_;
    size_t at_ = 0;
    CNames out_;
};

} // namespace

CNames scan_c(std::string_view text) { return Scan(text).run(); }

namespace {

// A name that the prelude defines, and the library function that it needs.
struct Helper {
    const char* name;
    const char* function;
    size_t arguments;
};
constexpr Helper helpers[] = {
    {"STAP_PRINTF", "__c_print", 1},
    {"_stp_printf", "__c_print", 1},
    {"_stp_print", "__c_print", 1},
    {"_stp_warn", "__c_warn", 1},
    {"find_task_by_vpid", "pid2task", 1},
    {"find_task_by_pid", "pid2task", 1},
    {"find_vpid", "pid2task", 1},
    {"find_get_pid", "pid2task", 1},
    {"pid_task", "pid2task", 1},
    {"get_pid_task", "pid2task", 1},
    {"for_each_process", "pid2task", 1},
    {"do_each_thread", "pid2task", 1},
    {"for_each_process_thread", "pid2task", 1},
    {"d_path", "__c_path", 1},
    {"get_cycles", "get_cycles", 0},
    {"HZ", "HZ", 0},
    {"O_DIRECT", "__o_direct_bit", 0},
    {"O_LARGEFILE", "__o_largefile_bit", 0},
    {"O_DIRECTORY", "__o_directory_bit", 0},
    {"O_NOFOLLOW", "__o_nofollow_bit", 0},
    {"PAGE_SIZE", "mem_page_size", 0},
    {"PAGE_SHIFT", "mem_page_size", 0},
    {"PAGE_MASK", "mem_page_size", 0},
    {"PAGE_ALIGN", "mem_page_size", 0},
    {"get_order", "mem_page_size", 0},
    {"jiffies_to_msecs", "HZ", 0},
    {"jiffies_to_usecs", "HZ", 0},
    {"msecs_to_jiffies", "HZ", 0},
    {"usecs_to_jiffies", "HZ", 0},
    {"jiffies_to_nsecs", "HZ", 0},
    {"jiffies_to_clock_t", "HZ", 0},
    {"ktime_get_real", "gettimeofday_ns", 0},
    {"ktime_get_real_ns", "gettimeofday_ns", 0},
    {"ktime_get_real_seconds", "gettimeofday_ns", 0},
    {"probe_point", "pp", 0},
    {"user_mode_p", "user_mode", 0},
    {"WARN_ON", "__c_warn", 1},
    {"WARN_ON_ONCE", "__c_warn", 1},
};
struct Variable {
    const char* name;
    const char* variable;
};
constexpr Variable variables[] = {
    {"init_task", "init_task"},
    {"per_cpu_ptr", "__per_cpu_offset"},
    {"per_cpu", "__per_cpu_offset"},
    {"cpu_rq", "__per_cpu_offset"},
    {"cpu_rq", "runqueues"},
    {"this_cpu_ptr", "__per_cpu_offset"},
    {"raw_cpu_ptr", "__per_cpu_offset"},
    {"this_cpu_read", "__per_cpu_offset"},
    {"raw_cpu_read", "__per_cpu_offset"},
    {"__this_cpu_read", "__per_cpu_offset"},
    {"get_cpu_var", "__per_cpu_offset"},
    {"__get_cpu_var", "__per_cpu_offset"},
    {"__per_cpu_offset", "__per_cpu_offset"},
    {"cpu_online_mask", "__cpu_online_mask"},
    {"for_each_online_cpu", "__cpu_online_mask"},
    {"cpu_online", "__cpu_online_mask"},
    {"num_online_cpus", "__cpu_online_mask"},
    {"cpu_possible_mask", "__cpu_possible_mask"},
    {"for_each_possible_cpu", "__cpu_possible_mask"},
    {"num_possible_cpus", "__cpu_possible_mask"},
    {"cpu_present_mask", "__cpu_present_mask"},
    {"for_each_present_cpu", "__cpu_present_mask"},
    {"num_present_cpus", "__cpu_present_mask"},
    {"nr_cpu_ids", "nr_cpu_ids"},
    {"cpumask_weight", "nr_cpu_ids"},
    {"cpumask_first", "nr_cpu_ids"},
    {"cpumask_next", "nr_cpu_ids"},
    {"cpumask_empty", "nr_cpu_ids"},
    {"for_each_cpu", "nr_cpu_ids"},
    {"for_each_online_cpu", "nr_cpu_ids"},
    {"for_each_possible_cpu", "nr_cpu_ids"},
    {"for_each_present_cpu", "nr_cpu_ids"},
    {"num_online_cpus", "nr_cpu_ids"},
    {"num_possible_cpus", "nr_cpu_ids"},
    {"num_present_cpus", "nr_cpu_ids"},
};

} // namespace

std::vector<CCallee> library_callees(const CNames& names) {
    std::vector<CCallee> out;
    for (const Helper& helper : helpers)
        if (names.has(helper.name))
            out.push_back({helper.function, helper.arguments});
    return out;
}

std::vector<CCallee> c_callees(const CNames& names) {
    std::vector<CCallee> out = library_callees(names);
    constexpr std::string_view call = "STAP_CALL_";
    for (const auto& [name, use] : names.uses)
        if (name.starts_with(call))
            out.push_back({name.substr(call.size()), use.arguments});
    return out;
}

std::set<std::string> kernel_variables(const CNames& names) {
    std::set<std::string> out = names.externs;
    for (const Variable& one : variables)
        if (names.has(one.name))
            out.insert(one.variable);
    return out;
}

} // namespace sonde

// Compiles all C of a script as one text. The text consists of the basic types, the kernel's types, the prelude, the
// script's declarations, and the functions. Each function is enclosed by a head and a tail from here. `#line` and
// blanks keep each character of the script at its own line and column, so clang's messages and debug information refer
// to the script.
//
// Each function body becomes a C function without a result, as the documented interface requires: it returns by
// `return;`, and its result is in a structure, THIS. A second function, which handlers call, fills THIS and reads the
// result. For example, `function next:long (x:long) %{ STAP_RETURN(STAP_ARG_x + 1); %}` becomes about this:
//     #define STAP_ARG_x THIS->x
//     #define STAP_RETURN(v) do { THIS->__retvalue = (long)(v); return; } while (0)
//     struct next_this { long x; long __retvalue; long __status; };
//     static void next_body(struct next_this *THIS) { STAP_RETURN(STAP_ARG_x + 1); }
//     long next(long sonde_p_x, void *sonde_environment, char *sonde_slots, long *sonde_result, char *sonde_error) {
//         struct next_this sonde_this = {.x = sonde_p_x};
//         next_body(&sonde_this);
//         if (!sonde_this.__status)
//             *sonde_result = sonde_this.__retvalue;
//         return sonde_this.__status;
//     }
//
// The text may be compiled several times, because only clang knows which types it needs. If clang's messages say that a
// type is missing, the kernel's modules are searched for it. If they say that the script and the kernel declare the
// same name, the kernel's declaration is left out. Then clang gets the new text, until nothing more can be changed.
//
// `#include <...>` has no effect, whatever the name is: the kernel's types and the prelude are always present. No file
// is read.
#include "codegen/c/compile.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "codegen/c/clang.h"
#include "codegen/c/clang_messages.h"
#include "codegen/c/clang_positions.h"
#include "codegen/c/kernel_declarations.h"
#include "codegen/c/memory.h"
#include "codegen/c/prelude.h"
#include "codegen/c/text.h"
#include "codegen/emit/out_of_memory.h"

namespace sonde {

using hir::ValueType;

namespace {

constexpr const char* own_name = "sonde-prelude"; // file name of lines that are not the script's

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

void collect_names(std::string_view text, std::set<std::string>& names) {
    for (size_t at = 0; at < text.size();) {
        size_t end = at;
        while (end < text.size() && is_word(text[end]))
            end++;
        if (end > at && !std::isdigit(static_cast<unsigned char>(text[at])))
            names.emplace(text.substr(at, end - at));
        at = end + (end == at);
    }
}

// Collects functions that the script defines: a name with something in parentheses and a `{`, outside of all braces.
void collect_functions(std::string_view text, std::set<std::string>& names) {
    int braces = 0, parentheses = 0;
    std::string_view word, called;
    for (size_t at = 0; at < text.size();) {
        size_t end = at;
        while (end < text.size() && is_word(text[end]))
            end++;
        if (end > at) {
            word = text.substr(at, end - at);
            at = end;
            continue;
        }
        const char c = text[at++];
        if (c == '(' && parentheses++ == 0 && braces == 0)
            called = word;
        else if (c == ')')
            parentheses--;
        else if (c == ';')
            called = {};
        else if (c == '{' && braces++ == 0 && !called.empty())
            names.emplace(called);
        else if (c == '}')
            braces--;
    }
}

// Chooses the parts of the kernel's headers that are used by the script or by other chosen parts. Adds the names that
// they use to `names`. A line of kernel_macros.h is a part for the name that it defines. The other files have parts
// like this one, which a use of `rb_next` selects:
//
//     //@ rb_next : rb_node
//     static inline struct rb_node *rb_next(const struct rb_node *node) { ... }
std::string choose_parts(std::set<std::string>& names, const std::set<std::string>& own) {
    struct Part {
        std::set<std::string> names;
        std::string words, text;
        bool is_closed = false, is_chosen = false;
    };
    std::vector<Part> parts;
    const std::string_view macros = c_kernel_macros;
    constexpr std::string_view define = "#define ", part_mark = "//@ ";
    for (size_t begin = macros.find(define); begin != std::string_view::npos;) {
        const size_t end = macros.find('\n', begin) + 1, name = begin + define.size();
        size_t name_end = name;
        while (is_word(macros[name_end]))
            name_end++;
        parts.push_back(
            {{std::string(macros.substr(name, name_end - name))}, "", std::string(macros.substr(begin, end - begin))});
        begin = macros.find(define, end);
    }
    for (std::string_view text : {c_kernel_parts, c_script_parts})
        for (size_t begin = text.find(part_mark); begin != text.npos;) {
            const size_t line_end = text.find('\n', begin) + 1, end = text.find(part_mark, line_end);
            const std::string_view line = text.substr(begin, line_end - 1 - begin);
            const size_t colon = line.find(" :"), closed = line.find(" : closed");
            parts.push_back({{},
                             std::string(line.substr(colon + 2, closed == line.npos ? closed : closed - colon - 2)),
                             std::string(text.substr(line_end, end == text.npos ? end : end - line_end)),
                             closed != line.npos});
            collect_names(line.substr(0, colon), parts.back().names);
            begin = end;
        }
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (Part& part : parts) {
            if (part.is_chosen || std::none_of(part.names.begin(), part.names.end(), [&](const std::string& name) {
                    return names.contains(name) && !own.contains(name);
                }))
                continue;
            part.is_chosen = is_new = true;
            collect_names(part.words, names);
            if (!part.is_closed)
                collect_names(part.text, names);
        }
    }
    std::string out;
    for (const Part& part : parts)
        if (part.is_chosen)
            out += part.text;
    return out;
}

// Quotes the text as a C string literal.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (char c : text)
        out += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
    return out + "\"";
}

class Composer {
  public:
    Composer(const Sources& sources, Diagnostics& diags) : sources_(sources), diags_(diags) {}

    // Appends the script's text at its own lines and columns.
    void script(const hir::CText& code) {
        LineColumn at = sources_.line_column(code.range.file, code.range.begin + 2);
        out_ += fmt::format("\n#undef __FILE__\n#define __FILE__ {}\n#line {} \"{}\"\n",
                            quoted(sources_.name(code.range.file)), at.line, c_file_name(code.range.file));
        out_.append(at.column - 1, ' ');
        out_ += prepare_c_text(code, diags_);
    }
    // Appends text around the script's. Messages about it are reported at this position of the script.
    void around(const std::string& text, FileId file, uint32_t position) {
        const std::string line =
            fmt::format("\n#line {} \"{}\"\n", sources_.line_column(file, position).line, c_file_name(file));
        for (size_t begin = 0; begin < text.size();) {
            const size_t end = std::min(text.find('\n', begin), text.size());
            out_ += line + text.substr(begin, end - begin);
            begin = end + 1;
        }
    }
    void own(const std::string& text) { out_ += fmt::format("\n#line 1 \"{}\"\n", own_name) + text; }
    std::string take() { return std::move(out_); }

  private:
    const Sources& sources_;
    Diagnostics& diags_;
    std::string out_;
};

const char* c_type(ValueType type) { return type == ValueType::String ? "char *" : "long "; }

// A C function that calls a script function. It passes strings in slots, and ends the calling C after an error.
std::string declare_call(const hir::Function& callee) {
    const bool gives_string = callee.result == ValueType::String, gives = callee.result != ValueType::Void;
    const std::string symbol = script_symbol(callee.name);
    std::string types, params, copies, values;
    for (size_t i = 0; i < callee.params.size(); i++) {
        const bool is_string = callee.params[i]->type == ValueType::String;
        types += is_string ? "const char *, " : "long, ";
        params += fmt::format("{}{}a{}", i ? ", " : "", is_string ? "const char *" : "long ", i);
        if (is_string)
            copies += fmt::format("char *s{0} = sonde_mark_slot();\nstrlcpy(s{0}, a{0}, MAXSTRINGLEN);\n", i);
        values += fmt::format("{}{}, ", is_string ? 's' : 'a', i);
    }
    return fmt::format(
        "extern long {0}(void *, {1}void *);\n"
        "static inline {2}call_{0}({3}) {{\n{4}{5}sonde_mark_check({0}(sonde_mark_environment(), {6}{7}));\n"
        "{8}}}\n",
        symbol, types,
        gives_string ? "char *"
        : gives      ? "long "
                     : "void ",
        params.empty() ? "void" : params, copies,
        gives_string ? "char *result = sonde_mark_slot();\nresult[0] = 0;\n" : "long result = 0;\n", values,
        gives_string ? "result" : "&result", gives ? "return result;\n" : "");
}

// Macros that define the script function's name in the following text. `ends` gets the #undefs.
void name_calls(const hir::Function& function, std::string& macros, std::string& ends) {
    for (const hir::CCall& one : function.c_calls) {
        macros += fmt::format("#define {} call_{}\n", one.name, script_symbol(one.call->callee->name));
        ends += fmt::format("#undef {}\n", one.name);
    }
}

// All functions share the script's declarations. The library's functions have their names there, too.
std::string declare_calls(const std::vector<const hir::Function*>& functions) {
    std::set<std::string> done;
    std::string out;
    for (const hir::Function* function : functions)
        for (const hir::CCall& one : function->c_calls) {
            if (done.insert(script_symbol(one.call->callee->name)).second)
                out += declare_call(*one.call->callee);
            if (one.name.starts_with("sonde_") && done.insert(one.name).second)
                out += fmt::format("#define {0} call_{1}\n", one.name, script_symbol(one.call->callee->name));
        }
    return out;
}

std::string expression_head(const hir::Function& function) {
    return function.result == ValueType::String ? "const char *value_ = ({"
           : function.result == ValueType::Long ? "THIS->__retvalue = (long)({"
                                                : "({";
}
std::string expression_tail(const hir::Function& function) {
    return function.result == ValueType::String ? "\n;}); strlcpy(THIS->__retvalue, value_, MAXSTRINGLEN);" : "\n;});";
}

void compose_function(Composer& text, const hir::Function& function, Diagnostics& diags) {
    const std::string name = c_symbol(function.name), record = fmt::format("struct {}_this", name);
    std::string head = record + " {\n", params, values, macros, hides, ends, shows;
    for (const hir::Local* param : function.params) {
        if (is_c_keyword(param->name))
            diags.report(DiagId::EmbeddedCode, param->range,
                         fmt::format("the parameter `{}` is a keyword of C", param->name));
        // Hides a macro with the parameter's name within the function.
        hides += fmt::format("#pragma push_macro(\"{0}\")\n#undef {0}\n", param->name);
        shows += fmt::format("#pragma pop_macro(\"{}\")\n", param->name);
        head += fmt::format("{}{};\n", c_type(param->type), param->name);
        params += fmt::format("{}sonde_p_{}, ", c_type(param->type), param->name);
        values += fmt::format(".{0} = sonde_p_{0}, ", param->name);
        macros += fmt::format("#define STAP_ARG_{0} THIS->{0}\n", param->name);
        ends += fmt::format("#undef STAP_ARG_{}\n", param->name);
    }
    const bool gives_string = function.result == ValueType::String;
    head +=
        fmt::format("{}__retvalue;\nlong __status;\n}};\n", gives_string ? "char *const " : c_type(function.result));
    macros += gives_string
                  ? "#define STAP_RETURN(v) do { strlcpy(THIS->__retvalue, (v), MAXSTRINGLEN); return; } while (0)\n"
              : function.result == ValueType::Long
                  ? "#define STAP_RETURN(v) do { THIS->__retvalue = (long)(v); return; } while (0)\n"
                  : "#define STAP_RETURN(...) return\n";
    name_calls(function, macros, ends);
    const Range range = function.c_code.range;
    text.around(fmt::format("{}{}{}#define __func__ {}\nstatic void {}_body({} *THIS) {{{}", macros, hides, head,
                            quoted(function.name), name, record,
                            function.c_code.is_expression ? expression_head(function) : ""),
                range.file, range.begin);
    text.script(function.c_code);
    std::string tail = fmt::format("{}\n}}\n#undef __func__\n{}#undef STAP_RETURN\n",
                                   function.c_code.is_expression ? expression_tail(function) : "", ends);
    tail +=
        fmt::format("long {}({}void *sonde_environment, char *sonde_slots, {}*sonde_result, char *sonde_error) {{\n",
                    name, params, gives_string ? "char " : "long ");
    tail +=
        fmt::format("{} sonde_this = {{{}{}}};\n", record, values, gives_string ? ".__retvalue = sonde_result" : "");
    tail += fmt::format("{}_body(&sonde_this);\n{}return sonde_this.__status;\n}}\n", name,
                        gives_string ? "" : "if (!sonde_this.__status)\n*sonde_result = sonde_this.__retvalue;\n");
    text.around(tail + shows, range.file, range.end - 1);
}

// The names that the prelude defines: `#define f`, `static inline int f(...) {`.
std::set<std::string> names_of_prelude() {
    constexpr std::string_view define = "#define ", function = "static inline ";
    const std::string_view text = c_prelude;
    std::set<std::string> out;
    for (size_t line = 0; line < text.size(); line = text.find('\n', line) + 1) {
        size_t begin = line + define.size();
        if (text.substr(line).starts_with(function))
            for (begin = text.find('(', line); is_word(text[begin - 1]);)
                begin--;
        else if (!text.substr(line).starts_with(define))
            continue;
        size_t end = begin;
        while (is_word(text[end]))
            end++;
        out.emplace(text.substr(begin, end - begin));
    }
    return out;
}

// Script functions take precedence over prelude functions with the same name.
std::string rename_own(const std::set<std::string>& own) {
    std::string out;
    for (const std::string& name : names_of_prelude())
        if (own.contains(name))
            out += fmt::format("#undef {0}\n#define {0} {1}{0}\n", name, c_own_prefix);
    return out;
}

// LINUX_VERSION_CODE for a release such as "6.1.0-18-amd64" (include/generated/uapi/linux/version.h).
uint32_t version_code(const std::string& release) {
    unsigned major = 0, minor = 0, patch = 0;
    std::sscanf(release.c_str(), "%u.%u.%u", &major, &minor, &patch);
    return major << 16 | minor << 8 | std::min(patch, 255u);
}

} // namespace

namespace {

// Advice for a call of a kernel function. The first row whose `part` is in the function's name applies.
struct Advice {
    const char *part, *help;
};
constexpr Advice advices[] = {
    {"kallsyms", "read addresses in the script: `&@var(\"name\")`, `@const`"},
    {"sprint_symbol", "name the address in the script: `symname(address)`, `symdata(address)`"},
    {"snprint_addr", "name the address in the script: `symname(address)`, `symdata(address)`"},
    {"stack", "print it in the script: `print_backtrace()`, `print_ubacktrace()`"},
    {"sscanf", "`kstrtol` reads a number; in the script, use `tokenize` and `strtol`"},
    {"strsep", "find the next one with `strchr`, or use `tokenize` in the script"},
    {"strtok", "find the next one with `strchr`, or use `tokenize` in the script"},
    {"gettimeofday", "`ktime_get_real_ns()` returns the time of day, `ktime_get_ns()` the time since the start"},
    {"getnstime", "`ktime_get_real_ns()` returns the time of day, `ktime_get_ns()` the time since the start"},
    {"sched_clock", "`ktime_get_ns()` returns the time since the start"},
    {"local_clock", "`ktime_get_ns()` returns the time since the start"},
    {"get_mm_", "use the library's `proc_mem_rss_pid` and `proc_mem_size_pid`"},
    {"task_pt_regs", "`CONTEXT->uregs` has the running program's registers, `register(\"name\")` the probe's"},
    {"each_thread", "`for_each_process_thread(process, thread)` walks all threads"},
    {"alloc", "keep values in globals and arrays of the script"},
    {"free", "keep values in globals and arrays of the script"},
    {"print", "print with `STAP_PRINTF`, or return the value and print it in the handler"},
    {"pr_", "print with `STAP_PRINTF`, or return the value and print it in the handler"},
    {"lock", "read without the lock: an invalid pointer causes an error that `try` catches"},
    {"user", "read the program's memory in the script: `user_long`, `user_string`, or with `bpf_probe_read_user`; "
             "`bpf_probe_write_user` writes it"},
};

} // namespace

void report_unknown_function(Diagnostics& diags, Range range, const std::string& name) {
    DiagBuilder report =
        diags.report(DiagId::EmbeddedCode, range,
                     fmt::format("`{}` does not exist: C in BPF cannot call functions of the kernel", name));
    if (name.starts_with("STAP_GLOBAL_GET_"))
        report.help(fmt::format("declare it with `/* pragma:read:{} */` in the function", name.substr(16)));
    else if (name.starts_with("STAP_GLOBAL_SET_"))
        report.help(fmt::format("declare it with `/* pragma:write:{} */` in the function", name.substr(16)));
    else if (name.starts_with("STAP_CALL_"))
        report.help(fmt::format("declare it with `/* pragma:call:{} */` in the function", name.substr(10)));
    else if (name.starts_with("bpf_"))
        report.help("C in a script can call the helpers in docs/embedded-c.md and the kernel's kfuncs; a probe has no "
                    "map, packet or socket for other helpers");
    else if (const Advice* found =
                 std::find_if(std::begin(advices), std::end(advices),
                              [&](const Advice& one) { return name.find(one.part) != std::string::npos; });
             found != std::end(advices))
        report.help(found->help);
    else
        report.help("read the kernel's structures, or use a function of the script's library");
}

Result<std::optional<CCode>> compile_c_code(const hir::Program& program, const Translate& translate,
                                            const CodegenFacts& facts, const CKernel& kernel, Diagnostics& diags) {
    std::vector<const hir::Function*> functions;
    for (const hir::Function* function : program.functions)
        if (function->c_code.range.valid())
            functions.push_back(function);
    if (functions.empty() && program.c_blocks.empty())
        return std::optional<CCode>();
    const EndsWithoutMemory ends_without_memory;
    const uint32_t power = translate.string_size();

    const uint32_t compatible = version_code(kernel.compatible);
    std::set<std::string> names = {"list_head", "hlist_head", "hlist_node"};
    for (const hir::CText& block : program.c_blocks)
        collect_names(block.text, names);
    for (const hir::Function* function : functions)
        collect_names(function->c_code.text, names);
    if (names.contains("current") || names.contains("get_current"))
        names.insert("task_struct");
    std::set<std::string> own;
    for (const hir::CText& block : program.c_blocks)
        collect_functions(block.text, own);
    Result<std::string> btf = kernel.modules.btf("");
    if (!btf)
        return Error(fmt::format("C needs the types of the kernel: {}", btf.error().message));
    std::set<std::string> probed;
    for (const hir::Handler* handler : program.handlers)
        for (const plan::Point& point : handler->points)
            probed.insert(point.module);
    ModuleTypes types(*btf, kernel.modules, std::move(probed));
    Result<ClangOutput> out = ClangOutput();
    std::string with_macros;      // clang's messages from when names of the script were still macros
    std::set<std::string> hidden; // kernel names that the script uses for something else
    for (bool is_over = false; !is_over;) {
        const std::string parts = choose_parts(names, own);
        Result<std::string> declared =
            declare_kernel_types(types.btf(), names, types.kernel_count(), types.chosen(), hidden);
        if (!declared)
            return std::move(declared).error();
        Composer text(diags.sources(), diags);
        text.own(c_basic_types);
        text.own(*declared);
        text.own(fmt::format("#define MAXSTRINGLEN {}\n#define LINUX_VERSION_CODE {}\n"
                             "#define STAP_COMPAT_VERSION STAP_VERSION({}, {})\n{}",
                             power, version_code(kernel.release), compatible >> 16, compatible >> 8 & 255, c_prelude));
        text.own(declare_calls(functions));
        text.own(parts);
        text.own(rename_own(own));
        for (const hir::CText& block : program.c_blocks)
            text.script(block);
        for (const hir::Function* function : functions)
            compose_function(text, *function, diags);
        if (diags.has_errors())
            return std::optional<CCode>();
        out = run_clang(text.take());
        if (!out)
            return std::move(out).error();
        // Modules are read only for missing types, and a kernel name is hidden only if it conflicts with one of the
        // script. clang's messages show both, and then clang gets the changed text.
        const size_t before = hidden.size();
        if (out->bitcode.empty()) {
            hidden.merge(names_declared_twice(out->messages, diags.sources()));
            const std::set<std::string> macros = macros_in_the_way(out->messages, diags.sources());
            if (!macros.empty() && with_macros.empty())
                with_macros = out->messages;
            hidden.insert(macros.begin(), macros.end());
            own.insert(hidden.begin(), hidden.end());
        }
        is_over = !out->bitcode.empty() || (!types.find(missing_types(out->messages)) && hidden.size() == before);
    }
    if (out->bitcode.empty()) {
        std::vector<Range> places;
        for (const hir::CText& block : program.c_blocks)
            places.push_back(block.range);
        for (const hir::Function* function : functions)
            places.push_back(function->c_code.range);
        if (!out->failure.empty())
            diags.report(DiagId::EmbeddedCode, places[0], out->failure)
                .help("use smaller expressions, macros and tables, and no attributes: clang does not support some of "
                      "them, as `alias` and `ifunc`, for BPF");
        else
            // Report the messages from before macros were hidden, if hiding them did not help.
            report_clang_messages(
                with_macros.empty() ? out->messages : with_macros, places,
                [&](const CTypeName& name) { return types.why_missing(name); }, diags);
        return std::optional<CCode>();
    }
    if (functions.empty())
        return std::optional<CCode>();
    Result<std::optional<CCode>> code = secure_c_code(
        out->bitcode, functions, {power, 2 * uint64_t{power} + 64, facts.may_goto, translate.max_action()}, diags);
    if (code && *code)
        (*code)->modules = types.used();
    return code;
}

} // namespace sonde

// One text is made of all C that a script uses: basic types, the kernel's types, the prelude, the script's
// declarations, and each function between a head and a tail of ours. `#line` and blanks keep every character of the
// script's at its own line and column, so that clang's messages and debug information point into the script.
//
// A function's body becomes a function without a result, as the documented interface has it: it is left by `return;`,
// and its result lies in a structure, THIS. The function that is called from outside fills and reads that.
//
// `#include <...>` of any name stands for the kernel's types and the prelude, which are there anyway; no file is read.
#include "codegen/c/compile.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "codegen/c/clang.h"
#include "codegen/c/clang_messages.h"
#include "codegen/c/kernel_declarations.h"
#include "codegen/c/memory.h"
#include "codegen/c/place.h"
#include "codegen/c/prelude.h"
#include "codegen/c/text.h"
#include "codegen/out_of_memory.h"

namespace sonde {

using hir::ValueType;

namespace {

constexpr const char* own_name = "sonde-prelude"; // of the lines that are not the script's

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

// As a literal of C.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (char c : text)
        out += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
    return out + "\"";
}

class Composer {
  public:
    Composer(const Sources& sources, Diagnostics& diags) : sources_(sources), diags_(diags) {}

    // The script's text at its own place.
    void script(const hir::CText& code) {
        LineColumn at = sources_.line_column(code.range.file, code.range.begin + 2);
        out_ += fmt::format("\n#undef __FILE__\n#define __FILE__ {}\n#line {} \"{}\"\n",
                            quoted(sources_.name(code.range.file)), at.line, c_file_name(code.range.file));
        out_.append(at.column - 1, ' ');
        out_ += prepare_c_text(code, diags_);
    }
    // What stands around the script's text: what clang says of it, it says at that line of the script.
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

// What C calls a function of the script by: strings go into slots of C's own, and an error ends C too.
std::string declare_call(const hir::Function& callee) {
    const bool gives_string = callee.result == ValueType::String, gives = callee.result != ValueType::Void;
    const std::string symbol = script_symbol(callee.name);
    std::string types, params, copies, values;
    for (size_t i = 0; i < callee.params.size(); i++) {
        const bool is_string = callee.params[i]->type == ValueType::String;
        types += is_string ? "const char *, " : "long, ";
        params += fmt::format("{}{}a{}", i ? ", " : "", is_string ? "const char *" : "long ", i);
        if (is_string)
            copies += fmt::format("char *s{0} = sonde_c_slot();\nstrlcpy(s{0}, a{0}, MAXSTRINGLEN);\n", i);
        values += fmt::format("{}{}, ", is_string ? 's' : 'a', i);
    }
    return fmt::format("extern long {0}(void *, {1}void *);\n"
                       "static inline {2}call_{0}({3}) {{\n{4}{5}sonde_c_check({0}(sonde_c_environment(), {6}{7}));\n"
                       "{8}}}\n",
                       symbol, types,
                       gives_string ? "char *"
                       : gives      ? "long "
                                    : "void ",
                       params.empty() ? "void" : params, copies,
                       gives_string ? "char *result = sonde_c_slot();\nresult[0] = 0;\n" : "long result = 0;\n", values,
                       gives_string ? "result" : "&result", gives ? "return result;\n" : "");
}

// By its name in C, for what stands after. `ends` takes the names back.
void name_calls(const hir::Function& function, std::string& macros, std::string& ends) {
    for (const hir::CCall& one : function.c_calls) {
        macros += fmt::format("#define {} call_{}\n", one.name, script_symbol(one.call->callee->name));
        ends += fmt::format("#undef {}\n", one.name);
    }
}

// Declarations in the script are shared by all functions, and so are the names that the library's functions have
// there.
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
        // A macro of that name is none in there.
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

// LINUX_VERSION_CODE of a release such as "6.1.0-18-amd64" (include/generated/uapi/linux/version.h).
uint32_t version_code(const std::string& release) {
    unsigned major = 0, minor = 0, patch = 0;
    std::sscanf(release.c_str(), "%u.%u.%u", &major, &minor, &patch);
    return major << 16 | minor << 8 | std::min(patch, 255u);
}

} // namespace

void report_unknown_function(Diagnostics& diags, Range range, const std::string& name) {
    DiagBuilder report =
        diags.report(DiagId::EmbeddedCode, range,
                     fmt::format("`{}` is not there: C in BPF cannot call functions of the kernel", name));
    auto any = [&](std::initializer_list<const char*> parts) {
        for (const char* part : parts)
            if (name.find(part) != std::string::npos)
                return true;
        return false;
    };
    if (name.starts_with("STAP_GLOBAL_GET_"))
        report.help(fmt::format("`/* pragma:read:{} */` in the function makes it known", name.substr(16)));
    else if (name.starts_with("STAP_GLOBAL_SET_"))
        report.help(fmt::format("`/* pragma:write:{} */` in the function makes it known", name.substr(16)));
    else if (name.starts_with("STAP_CALL_"))
        report.help(fmt::format("`/* pragma:call:{} */` in the function makes it known", name.substr(10)));
    else if (any({"alloc", "free"}))
        report.help("keep values in globals and arrays of the script");
    else if (any({"printk", "printf", "print"}))
        report.help("give the value back, and print it in the handler");
    else if (any({"lock"}))
        report.help("read without the lock: a pointer that has gone bad is an error that `try` catches");
    else if (any({"copy_from_user", "get_user", "user"}))
        report.help(
            "read the program's memory in the script: `user_long`, `user_string`, or with `bpf_probe_read_user`; "
            "`bpf_probe_write_user` writes it");
    else
        report.help("read what it reads from the structures themselves, or use a function of the script's library");
}

Result<std::optional<CCode>> compile_c_code(const hir::Program& program, const CodegenOptions& options,
                                            const CKernel& kernel, Diagnostics& diags) {
    std::vector<const hir::Function*> functions;
    for (const hir::Function* function : program.functions)
        if (function->c_code.range.valid())
            functions.push_back(function);
    if (functions.empty())
        return std::optional<CCode>();
    const EndsWithoutMemory ends_without_memory;
    uint32_t power = 8;
    while (power < options.max_string)
        power *= 2;

    const uint32_t compatible = version_code(kernel.compatible);
    std::set<std::string> names = {"list_head", "hlist_head", "hlist_node"};
    for (const hir::CText& block : program.c_blocks)
        collect_names(block.text, names);
    for (const hir::Function* function : functions)
        collect_names(function->c_code.text, names);
    if (names.contains("current") || names.contains("get_current"))
        names.insert("task_struct");
    std::string parts;
    for (const CPart& part : c_parts()) {
        std::set<std::string> own;
        collect_names(part.names, own);
        if (std::none_of(own.begin(), own.end(), [&](const std::string& name) { return names.contains(name); }))
            continue;
        collect_names(part.words, names);
        collect_names(part.text, names);
        parts += part.text;
    }
    Result<std::string> btf = kernel.btf();
    if (!btf)
        return Error(fmt::format("C needs the types of the kernel: {}", btf.error().message));
    Result<std::string> types = declare_kernel_types(*btf, names);
    if (!types)
        return std::move(types).error();

    Composer text(diags.sources(), diags);
    text.own(c_basic_types);
    text.own(*types);
    text.own(fmt::format("#define MAXSTRINGLEN {}\n#define LINUX_VERSION_CODE {}\n"
                         "#define STAP_COMPAT_VERSION STAP_VERSION({}, {})\n{}",
                         power, version_code(kernel.release), compatible >> 16, compatible >> 8 & 255, c_prelude));
    text.own(declare_calls(functions));
    text.own(parts);
    for (const hir::CText& block : program.c_blocks)
        text.script(block);
    for (const hir::Function* function : functions)
        compose_function(text, *function, diags);
    if (diags.has_errors())
        return std::optional<CCode>();
    Result<ClangOutput> out = run_clang(text.take());
    if (!out)
        return std::move(out).error();
    if (out->bitcode.empty()) {
        std::vector<Range> places;
        for (const hir::CText& block : program.c_blocks)
            places.push_back(block.range);
        for (const hir::Function* function : functions)
            places.push_back(function->c_code.range);
        if (!out->failure.empty())
            diags.report(DiagId::EmbeddedCode, places[0], out->failure)
                .help("make its expressions, macros and tables smaller");
        else
            report_clang_messages(out->messages, places, diags);
        return std::optional<CCode>();
    }
    return secure_c_code(out->bitcode, functions, {power, 2 * uint64_t{power} + 64, options.may_goto}, diags);
}

} // namespace sonde

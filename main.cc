// sonde: the pipeline. Each pass is a function from value to value. The layers' folders contain the passes, and driver/
// connects them to the command line.
//
//   1 parse    script -> syntax tree; the library is only indexed
//   2 analyze  probe points to addresses, `$variables` to locations, names, types: HIR
//   3 generate HIR -> LLVM -> Plan (-p and -v count lowering and compiling as passes 3 and 4)
//   5 run      the Plan: load, attach, pump events, detach, report
//
// --dump prints the form after a pass: `ast` after pass 1, `hir` after pass 2, and `ir`, `bpf` and `plan` after pass 3.
//
// A new input of pass 3 must be part of the HIR, of Translate or of CodegenFacts. The key of the plan cache consists of
// these (driver/plan_cache.h); with any other input, sonde would run an outdated plan.
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "codegen/c/compile.h"
#include "codegen/codegen.h"
#include "codegen/give_back.h"
#include "driver/callers.h"
#include "driver/codegen_facts.h"
#include "driver/completion/complete.h"
#include "driver/confine.h"
#include "driver/dump_when.h"
#include "driver/estimate.h"
#include "driver/fmt_command.h"
#include "driver/foreign.h"
#include "driver/listing.h"
#include "driver/lsp/server.h"
#include "driver/mcp/server.h"
#include "driver/memory_left.h"
#include "driver/options.h"
#include "driver/origin_folder.h"
#include "driver/pass.h"
#include "driver/plan_cache.h"
#include "driver/progress.h"
#include "driver/recordings.h"
#include "driver/repl/editor_process.h"
#include "driver/repl/repl.h"
#include "driver/run_plan.h"
#include "driver/saved_plan.h"
#include "driver/sysroot.h"
#include "driver/translation.h"
#include "frontend/ast/ast.h"
#include "frontend/ast/listing.h"
#include "frontend/hir/hir.h"
#include "frontend/hir/walk.h"
#include "frontend/probes/inlined_copies.h"
#include "frontend/probes/record_files.h"
#include "frontend/sema/listing.h"
#include "frontend/sema/part.h"
#include "frontend/sema/sema.h"
#include "runtime/kernel/features.h"
#include "runtime/plan/plan.h"
#include "runtime/sinks/recording/event_reader.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

int fail(const Error& error) {
    say_error(error.message);
    return exit_failure;
}

// Counts the functions of -v's message: those of the script, and the called ones of the library. A primitive counts as
// a function, too, although it has no body.
size_t count_functions(const hir::Program& program) {
    std::set<std::string> primitives;
    const auto note = [&](const hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::Intrinsic && !hir::as<hir::Intrinsic>(expr).name.starts_with("_"))
            primitives.insert(hir::as<hir::Intrinsic>(expr).name);
    };
    for (const hir::Handler* handler : program.handlers)
        for_each_expr(*handler, note);
    for (const hir::Function* function : program.functions)
        for_each_expr(*function->body, note);
    return program.functions.size() + primitives.size();
}

size_t count_points(const hir::Program& program) {
    size_t points = 0;
    for (const hir::Handler* handler : program.handlers)
        points += handler->points.size();
    return points;
}

std::string counted(size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// -p1
void print_trees(const Translation& t) {
    fmt::print("# parse tree dump\n");
    for (const ast::File* file : t.files)
        fmt::print("# file {}\n{}", t.sources.name(file->id), ast::parse_listing(*file));
}

// Runs the passes up to -p, and returns the exit status. `policies` confine the script; empty: nothing does. `copy`:
// the copied stack that the script is for, or null.
int translate(const Options& options, const Policies& policies, const plan::StackCopy* copy) {
    const Translate& translate = options.translate;
    const std::optional<plan::Origin>& origin = options.driver.origin;
    set_warnings_off(translate.warnings_off);
    // Pass 1: texts to trees. With --relink, relative paths begin in the directory in which the plan was made.
    PassTimer pass1(1, options);
    std::optional<OriginFolder> folder(std::in_place, origin ? origin->folder : "");
    Result<UserTexts> texts = read_user_texts(options);
    if (!texts)
        return fail(texts.error());
    // Until the end of pass 2, files are those of the target.
    std::unique_ptr<Sysroot> sysroot;
    if (!options.driver.sysroot.empty()) {
        Result<std::unique_ptr<Sysroot>> entered = Sysroot::enter(options.driver.sysroot);
        if (!entered)
            return fail(entered.error());
        sysroot = *std::move(entered);
    }
    Translation t(options);
    t.sysroot = sysroot.get();
    std::unique_ptr<EventReader> events; // `sonde replay FILE SCRIPT`
    if (!options.driver.replay.empty()) {
        const Progress reading("reading the recording");
        Result<std::unique_ptr<EventReader>> opened = EventReader::open(options.driver.replay, options.driver.only);
        if (!opened)
            return fail(opened.error());
        events = *std::move(opened);
        t.env.recording = &events->points();
    }
    if (Result<void> parsed = parse(t, options, *std::move(texts)); !parsed)
        return fail(parsed.error());
    if (is_listing(options))
        return list(t, options, policies);
    if (t.diags.has_errors())
        return explain_foreign(t, options) ? exit_failure : (t.diags.say_held(), t.report(), say_failed(1));
    for (const ast::File* file : t.files)
        if (options.driver.dump == "ast")
            fmt::print("{}", ast::dump(*file));
    if (options.driver.last_pass == 1 && options.driver.dump.empty())
        print_trees(t);
    pass1.done(fmt::format("parsed user script and {} library scripts", t.library_files));
    if (options.driver.last_pass == 1 || options.driver.dump == "ast")
        return t.report() ? 0 : exit_failure;

    // Pass 2: resolves and types everything. Only C code in the script can still be wrong afterward.
    PassTimer pass2(2, options);
    t.diags.say_held();
    if (t.diags.has_errors())
        return t.report(), say_failed(2);
    if (Result<void> permitted = confine(t.files, t.sources, policies); !permitted)
        return fail(permitted.error()), say_failed(2);
    std::optional<Progress> progress(std::in_place, "finding probe points and their debug information");
    std::optional<plan::SharedGlobals> shared; // of probes that will be added
    if (options.driver.editable)
        shared.emplace().prints_unread = true;
    hir::Program* program = shared ? analyze_part(t.files, *t.library, t.env, translate, t.arena, t.diags, *shared)
                                   : analyze(t.files, *t.library, t.env, translate, t.arena, t.diags);
    progress.reset();
    if (!t.report() || !program)
        return say_failed(2);
    Diagnostics in_conditions(t.sources);
    check_dump_conditions(t, options, *program, in_conditions);
    if (!t.report(in_conditions))
        return say_failed(2);
    if (Result<void> permitted = confine(*program, t.sources, policies); !permitted)
        return fail(permitted.error()), say_failed(2);
    if (options.driver.dump == "hir")
        fmt::print("{}", hir::dump(*program));
    else if (options.driver.last_pass == 2 && options.driver.dump.empty())
        fmt::print("{}", hir::listing(*program));
    pass2.done(fmt::format("analyzed script: {}, {}, 0 embeds, {}", counted(count_points(*program), "probe"),
                           counted(count_functions(*program), "function"), counted(program->globals.size(), "global")));
    if (options.driver.last_pass == 2)
        return 0;
    Result<std::vector<plan::ProbedFile>> files = record_files(*program, t.env);
    if (!files)
        return fail(files.error()), say_failed(2);
    program->files = *std::move(files);
    if (sysroot)
        sysroot->leave();
    folder.reset(); // from here on, relative paths begin in the current directory

    // Passes 3 and 4: HIR to machine code. Pass 5 uses only the Plan.
    PassTimer pass3(3, options);
    CodegenFacts facts = find_codegen_facts(options, t, *program);
    Diagnostics in_c(t.sources);
    in_c.in_stap_words = t.diags.in_stap_words;
    Result<std::optional<CCode>> c_code = compile_c_code(*program, translate, facts, kernel_for_c(t), in_c);
    if (!c_code)
        return fail(c_code.error()), say_failed(3);
    if (!t.report(in_c))
        return say_failed(3);
    if (Result<void> added = add_plan_facts(facts, t, options, *program, *c_code ? &**c_code : nullptr); !added)
        return fail(added.error()), say_failed(3);
    CodegenDumps dumps;
    dumps.want_ir = options.driver.dump == "ir" || options.driver.last_pass == 3;
    dumps.want_bpf = options.driver.dump == "bpf";
    const plan::SharedGlobals* const shared_globals = shared ? &*shared : nullptr;
    // Probes that are added later can use an array in another way.
    const TaskArrays in_tasks = shared ? TaskArrays() : find_task_arrays(options, t, *program);
    PlanCache cache(options, *program, t.sources, facts, in_tasks);
    std::optional<plan::Plan> kept = shared ? std::nullopt : cache.load();
    const bool is_kept = kept.has_value();
    progress.emplace("translating");
    Result<plan::Plan> plan =
        is_kept ? *std::move(kept) : generate(*program, t.sources, translate, facts, in_tasks, &dumps, shared_globals);
    progress.reset(); // ends its thread: a session can fork
    fmt::print("{}{}", dumps.ir, dumps.bpf);
    if (!plan)
        return fail(plan.error()), say_failed(3);
    if (options.driver.dump == "plan")
        fmt::print("{}", plan::dump(*plan, find_link_kinds(*plan, translate.attach == "perf_event")));
    if (!is_kept && !shared)
        cache.store(*plan);
    if (options.driver.estimate_s && options.runs()) {
        const GeneratePlan other = [&](const hir::Program& sampled, const Translate& how) {
            return generate(sampled, t.sources, how, facts, {}, nullptr);
        };
        return estimate(*program, *plan, options, other, t.arena);
    }
    const std::string cached = fmt::format("using cached {}", cache.path());
    pass3.done(is_kept ? cached
                       : fmt::format("translated to {} bytes of BPF and {} bytes of host code", plan->bpf_object.size(),
                                     plan->host_object.size()));
    if (options.driver.last_pass == 3 || !options.driver.dump.empty())
        return 0;
    PassTimer pass4(4, options);
    if (options.driver.last_pass == 4) {
        Result<std::string> path = save_plan(*plan);
        if (!path)
            return fail(path.error());
        fmt::print("{}\n", *path);
    }
    pass4.done(is_kept ? cached : fmt::format("compiled BPF into \"{}.sonde\"", facts.module));
    if (options.driver.last_pass == 4)
        return 0;

    // Pass 5: the session.
    give_memory_back();
    PlanRun run;
    run.events = events.get();
    run.stack_copy = copy;
    run.rearrange = [&](uint32_t arrangement) {
        Translate other = translate;
        other.arrangement += arrangement;
        return generate(*program, t.sources, other, facts, in_tasks, nullptr, shared_globals);
    };
    if (shared)
        run.start_editor = [&]() -> Result<std::shared_ptr<const SharedSession>> {
            std::vector<std::string> scripts;
            for (const ast::File* file : t.files)
                scripts.emplace_back(t.sources.text(file->id));
            Result<std::unique_ptr<repl::EditorProcess>> started =
                repl::EditorProcess::start(*plan, scripts, options, policies);
            if (!started)
                return std::move(started).error();
            const std::shared_ptr<repl::EditorProcess> editor = *std::move(started);
            // The deleter keeps the process for as long as the session.
            return std::shared_ptr<const SharedSession>(
                new SharedSession{.maps = editor->maps(), .editor = editor->socket()},
                [editor](const SharedSession* shared) { delete shared; });
        };
    run.unhit.inlined_copies = [&](const plan::Point& point) { return count_inlined_copies(t.env, point); };
    run.unhit.similar_name = [&](const plan::Point& point) {
        const auto known = t.env.similar_names.find(point.pp);
        return known == t.env.similar_names.end() ? "" : known->second();
    };
    return run_plan(*plan, options, run);
}

// Runs a saved plan, which needs no other pass.
int run_saved(const Options& options) {
    set_warnings_off(options.translate.warnings_off);
    Result<plan::Plan> plan = load_saved_plan(options);
    return plan ? run_plan(*plan, options, {}) : fail(plan.error());
}

int run(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "--complete")
        return print_completions({argv + 2, argv + argc});
    if (argc > 1 && (std::string_view(argv[1]) == "lsp" || std::string_view(argv[1]) == "--language-server"))
        return lsp::serve({argv + 2, argv + argc});
    if (argc > 1 && std::string_view(argv[1]) == "mcp")
        return mcp::serve({argv + 2, argv + argc});
    if (argc > 1 && std::string_view(argv[1]) == "repl")
        return repl::run({argv + 2, argv + argc});
    if (argc > 1 && std::string_view(argv[1]) == "fmt")
        return run_fmt({argv + 2, argv + argc});
    std::optional<FrameScript> frames;
    std::vector<char*> own;
    if (argc == 2 && std::string_view(argv[1]) == describes_frames) {
        Result<FrameScript> written = write_frame_script();
        if (!written)
            return fail(written.error());
        for (std::string& word : frames.emplace(*std::move(written)).words)
            own.push_back(word.data());
        argc = static_cast<int>(own.size());
        own.push_back(nullptr);
        argv = own.data();
    }
    std::variant<Options, int> read = read_command_line(argc, argv);
    if (const int* status = std::get_if<int>(&read))
        return *status;
    const Options& options = std::get<Options>(read);
    const Result<Policies> policies = read_confinement(options);
    if (!policies)
        return fail(policies.error());
    if (!options.driver.from.empty())
        return print_foreign(options);
    if (!options.driver.replay.empty() && !asks_recording(options))
        return show_recording(options);
    if (Result<void> enough = check_memory(); !enough)
        return fail(enough.error());
    return options.driver.saved_plan.empty() || options.driver.relink
               ? translate(options, *policies, frames ? &frames->copy : nullptr)
               : run_saved(options);
}

// `reason` is an errno, or 0 if the error is unknown.
int fail_to_write(int reason) {
    return fail(reason ? errno_error("cannot write the output", reason) : Error("cannot write the output"));
}

// Flushes standard output. Listings, dumps and help go through the C library, which buffers the last of them until now,
// so a full disk shows up only here. A session writes its own output and reports its own errors.
int with_output_written(int status) {
    errno = 0;
    const bool written = std::fflush(stdout) == 0 && !std::ferror(stdout);
    return written || status ? status : fail_to_write(errno);
}

} // namespace
} // namespace sonde

int main(int argc, char** argv) try {
    sonde::explain_terminate();
    std::signal(SIGXFSZ, SIG_IGN); // `ulimit -f`: write() then fails, and its caller reports that
    return sonde::with_output_written(sonde::run(argc, argv));
} catch (const std::bad_alloc&) {
    std::fputs("sonde: out of memory\n", stderr);
    return 1;
} catch (const std::system_error& refused) { // by fmt::print
    return sonde::fail_to_write(refused.code().value());
} catch (const std::exception& bug) {
    std::fprintf(stderr, "sonde: internal error: %s\n", bug.what());
    return 1;
} catch (...) {
    std::fputs("sonde: internal error\n", stderr);
    return 1;
}

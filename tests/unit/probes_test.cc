// Probe points and `$variables` in the programs of tests/triggers: the resolved points, the HIR of expressions, and the
// error messages.
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/source.h"
#include "frontend/parse/parser.h"
#include "frontend/probes/probe.h"
#include "frontend/variables/variables.h"
#include "runtime/plan/kinds.h"
#include "tests/unit/of_host.h"

namespace sonde {
namespace {

std::string program(const std::string& name) { return SONDE_TRIGGERS "/" + name; }

std::string in(const std::string& name, const std::string& rest) {
    return fmt::format("process(\"{}\").{}", program(name), rest);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// One translation: sources, trees and messages.
struct Session {
    Sources sources;
    Diagnostics diags{sources};
    Arena arena;
    ProbeEnvironment env{host_architecture()};
    PointClaims claims;

    ast::File* parse(const std::string& text) {
        ast::File* file = parse_file(sources.add("<input>", text), sources, ParseOptions(), arena, diags);
        EXPECT_FALSE(diags.has_errors()) << messages();
        return file;
    }
    std::vector<ResolvedPoint> resolve(const std::string& point) {
        return resolve_point(*parse("probe " + point + " {}")->probes[0]->points[0], env, claims, diags);
    }
    std::string messages() const { return diags.render(false); }

    // `expr` at the first point that `point` resolves to, as --dump=hir prints it.
    std::string bind(const std::string& point, const std::string& expr) {
        std::vector<ResolvedPoint> points = resolve(point);
        if (points.empty())
            return "no point: " + messages();
        ast::Probe* probe = parse("probe never { " + expr + " }")->probes[0];
        const auto& stmt = ast::as<ast::ExprStmt>(*probe->body->body[0]);
        hir::Handler handler;
        hir::Local local;
        local.name = "i";
        local.type = hir::ValueType::Long;
        Binder binder{arena, diags, env, nullptr, nullptr};
        binder.lower = [&](const ast::Expr& lowered) { return arena.make<hir::LocalRef>(lowered.range, &local); };
        if (points[0].is_return)
            binder.at_entry = [&](hir::Expr* value) -> hir::Expr* {
                handler.entry_values.push_back(value);
                return arena.make<hir::EntryRead>(value->range, value->type,
                                                  static_cast<uint32_t>(handler.entry_values.size() - 1));
            };
        hir::Expr* bound = nullptr;
        if (stmt.expr->kind == ast::ExprKind::AddressOf)
            bound = bind_address_of(ast::as<ast::TargetExpr>(*ast::as<ast::AddressOfExpr>(*stmt.expr).operand),
                                    points[0], binder)
                        .expr;
        else
            bound = bind_target(ast::as<ast::TargetExpr>(*stmt.expr), points[0], binder).expr;
        if (!bound) {
            EXPECT_TRUE(diags.has_errors()) << expr << ": no value and no message";
            return messages();
        }
        EXPECT_FALSE(diags.has_errors()) << messages();
        hir::ExprStmt whole(bound->range, bound);
        hir::Block body(bound->range);
        body.body.push_back(&whole);
        handler.body = &body;
        return hir::dump_body(handler);
    }
};

std::string hir_of(const std::string& point, const std::string& expr) { return Session().bind(point, expr); }

std::string message_of(const std::string& point) {
    Session session;
    EXPECT_TRUE(session.resolve(point).empty()) << point;
    EXPECT_EQ(session.diags.error_count(), 1u) << session.messages();
    return session.messages();
}

TEST(Probes, BeginAndItsRelatives) {
    Session session;
    EXPECT_EQ(session.resolve("begin(-5)")[0].order, -5);
    EXPECT_EQ(session.resolve("begin")[0].kind, plan::ProbeKind::Begin);
    EXPECT_EQ(session.resolve("end")[0].kind, plan::ProbeKind::End);
    EXPECT_EQ(session.resolve("error")[0].kind, plan::ProbeKind::Error);
    EXPECT_EQ(session.resolve("never")[0].kind, plan::ProbeKind::Never);
    EXPECT_EQ(session.resolve("begin(-5)")[0].point.pp, "begin(-5)");
    EXPECT_TRUE(contains(message_of("never(1)"), "takes no argument"));
    EXPECT_TRUE(contains(message_of("begin.call"), "error[unknown-probe-point]"));
    EXPECT_TRUE(contains(message_of("begn"), "`begin`"));
}

TEST(Probes, Timers) {
    Session session;
    EXPECT_EQ(session.resolve("timer.s(2)")[0].timer.interval_ns, 2'000'000'000u);
    EXPECT_EQ(session.resolve("timer.usec(3)")[0].timer.interval_ns, 3'000u);
    EXPECT_EQ(session.resolve("timer.hz(4)")[0].timer.interval_ns, 250'000'000u);
    EXPECT_EQ(session.resolve("timer.jiffies(1)")[0].timer.interval_ns, 4'000'000u);
    ResolvedPoint random = session.resolve("timer.ms(10).randomize(3)")[0];
    EXPECT_EQ(random.timer.random_ns, 3'000'000u);
    EXPECT_FALSE(random.in_kernel);
    EXPECT_TRUE(contains(message_of("timer.ms(0)"), "above 0"));
    EXPECT_TRUE(contains(message_of("timer.hz(1).randomize(1)"), "cannot be randomized"));
    EXPECT_TRUE(contains(message_of("timer.mss(1)"), "`ms`"));
    EXPECT_TRUE(contains(message_of("timer"), "not a whole probe point"));
    EXPECT_TRUE(contains(message_of("timer.s(9223372036854775807)"), "too long"));
}

TEST(Probes, Functions) {
    Session session;
    std::vector<ResolvedPoint> calls = session.resolve(in("trace-O0", "function(\"traceme*\").call"));
    ASSERT_EQ(calls.size(), 2u) << session.messages();
    const ResolvedPoint& call = calls[0].point.function == "traceme" ? calls[0] : calls[1];
    EXPECT_EQ(call.kind, plan::ProbeKind::Uprobe);
    EXPECT_TRUE(call.in_kernel);
    EXPECT_EQ(call.address, call.function.body);
    EXPECT_TRUE(call.point.pp.starts_with(in("trace-O0", "function(\"traceme@"))) << call.point.pp;
    EXPECT_TRUE(call.point.pp.ends_with("trace.c:18\").call")) << call.point.pp;

    std::vector<ResolvedPoint> returns = session.resolve(in("trace-O0", "function(\"traceme\").return"));
    ASSERT_EQ(returns.size(), 1u) << session.messages();
    EXPECT_EQ(returns[0].kind, plan::ProbeKind::Uretprobe);
    EXPECT_TRUE(returns[0].at_return_instruction);
    const Address ret = call.function.high - of_host(1u, 4u);
    EXPECT_EQ(returns[0].address, ret);
    EXPECT_EQ(returns[0].point.offset, *returns[0].module->file().file_offset(ret));
    EXPECT_EQ(returns[0].point.entry_offset, call.point.offset);

    EXPECT_EQ(session.resolve(in("dwarf_basic-gcc-O2-5", "function(\"twice\")")).size(), 2u);
    // gcc has interleaved the two copies: the second one's first instruction is where the first one's beginning is
    // marked.
    EXPECT_EQ(session.resolve(in("dwarf_basic-gcc-O2-5", "function(\"twice\").inline")).size(), 2u);
    EXPECT_TRUE(contains(message_of(in("dwarf_basic-gcc-O2-5", "function(\"twice\").call")), "inlined everywhere"));
    EXPECT_TRUE(contains(message_of(in("trace-O0", "function(\"traceme\").inline")), "not inlined"));
}

TEST(Probes, Statements) {
    Session session;
    std::vector<ResolvedPoint> points = session.resolve(in("trace-O0", "statement(\"main@*/trace.c:36\")"));
    ASSERT_EQ(points.size(), 1u) << session.messages();
    EXPECT_TRUE(points[0].point.pp.ends_with("trace.c:36\")")) << points[0].point.pp;
    EXPECT_EQ(points[0].point.function, "main");
    std::vector<ResolvedPoint> same =
        session.resolve(in("trace-O0", fmt::format("statement({:#x})", points[0].address)));
    ASSERT_EQ(same.size(), 1u) << session.messages();
    EXPECT_EQ(same[0].point.offset, points[0].point.offset);

    EXPECT_TRUE(contains(message_of(in("trace-O0", "statement(\"main@*/trace.c:29\")")), "28 and 30"))
        << message_of(in("trace-O0", "statement(\"main@*/trace.c:29\")"));
    EXPECT_TRUE(contains(message_of(in("trace-O0", "statement(\"main@trac.c:36\")")), "`trace.c`"));
    EXPECT_TRUE(contains(message_of(in("trace-O0", "statement(\"main@trace.c:20\")")), "`traceme`"));
    EXPECT_TRUE(
        contains(message_of(in("dwarf_basic-plain", "statement(\"main@dwarf_basic.c:20\")")), "error[no-debug-info]"));
}

TEST(Probes, TargetsThatDoNotWork) {
    EXPECT_TRUE(contains(message_of("process(\"/no/such\").function(\"main\")"), "error[bad-target]"));
    EXPECT_TRUE(contains(message_of("process(\"/etc/passwd\").function(\"main\")"), "error[bad-target]"));
    EXPECT_TRUE(contains(message_of("process.function(\"main\")"), "error[bad-target]"));
    EXPECT_TRUE(contains(message_of(in("trace-O0", "function(\"tracme\")")), "`traceme`"));
    EXPECT_TRUE(contains(message_of(in("trace-O0", "functoin(\"main\")")), "`function`"));
    EXPECT_TRUE(contains(message_of(in("trace-O0", "function(\"main\").calls")), "`call`"));
    EXPECT_TRUE(contains(message_of(in("trace-O0", "insn")), "error[unsupported]"));
    Session session;
    EXPECT_TRUE(session.resolve("process(\"/no/such\").function(\"main\")?").empty());
    EXPECT_FALSE(session.diags.has_errors());
    session.env.command_path = program("trace-O0");
    EXPECT_EQ(session.resolve("process.function(\"main\")").size(), 1u);
    EXPECT_EQ(session.resolve(in("trace-O?", "function(\"main\")")).size(), 2u);
}

TEST(Probes, Listings) {
    Session session;
    std::vector<ResolvedPoint> points = session.resolve(in("trace-O0", "function(\"traceme\").return"));
    ASSERT_EQ(points.size(), 1u);
    std::string line = list_point(points[0], session.env) + list_variables(points[0]);
    EXPECT_TRUE(contains(line, "\").return $return:int $a:int $b:int")) << line;
    std::vector<ResolvedPoint> begin = session.resolve("begin");
    ASSERT_EQ(begin.size(), 1u);
    EXPECT_EQ(list_point(begin[0], session.env) + list_variables(begin[0]), "begin");
}

// ---- variables ------------------------------------------------------------------------------------------------------

TEST(Variables, Unoptimised) {
    std::string point = in("values-O0", "function(\"walk\")");
    EXPECT_TRUE(contains(hir_of(point, "$steps"), "s32")) << hir_of(point, "$steps");
    EXPECT_TRUE(contains(hir_of(point, "$head->id"), "s32"));
    EXPECT_TRUE(contains(hir_of(point, "$head->inside->bytes[3]"), "u8"));
    EXPECT_TRUE(contains(hir_of(point, "$head->next->next->id"), "s32"));
    EXPECT_TRUE(contains(hir_of(point, "$head->anonymous"), "s64"));
    EXPECT_TRUE(contains(hir_of(point, "$head->table[i]"), "* 8"));
    EXPECT_TRUE(contains(hir_of(point, "&$head->table[1]"), "+ "));
    EXPECT_TRUE(contains(hir_of(point, "$$parms"), "head="));
    EXPECT_TRUE(contains(hir_of(point, "$head$"), ".inside={...}")) << hir_of(point, "$head$");
    EXPECT_TRUE(contains(hir_of(point, "$head$$"), "__user_string_quoted"));
}

TEST(Variables, Optimised) {
    std::string point = in("values-O2", "function(\"integers\")");
    EXPECT_TRUE(contains(hir_of(point, "$a"), of_host("s8(reg5)", "s8(reg0)"))) << hir_of(point, "$a");
    EXPECT_TRUE(contains(hir_of(point, "$b"), of_host("u8(reg4)", "u8(reg1)")));
}

TEST(Variables, AtReturn) {
    std::string text = hir_of(in("values-O2", "function(\"divide\").return"), "$a");
    EXPECT_TRUE(contains(text, of_host("entry0 = s64(reg5)", "entry0 = s64(reg0)"))) << text;
    EXPECT_TRUE(contains(hir_of(in("values-O0", "function(\"negative\").return"), "$return"), "s8(reg0)"));
    text = hir_of(in("values-O0", "function(\"both\").return"), "$return->second");
    EXPECT_TRUE(contains(text, "s64(reg1)")) << text;
    EXPECT_TRUE(contains(hir_of(in("values-O0", "function(\"both\").return"), "$$return"), "return={...}"));
    // The pointer is from the entry; its target is read at the return.
    text = hir_of(in("values-O2", "function(\"walk\").return"), "$head->id");
    EXPECT_TRUE(contains(text, of_host("entry0 = u64(reg5)", "entry0 = u64(reg0)"))) << text;
}

TEST(Variables, Globals) {
    std::string fixed = hir_of(in("dwarf_basic-fixed", "function(\"nothing\")"), "@var(\"global_counter\")");
    EXPECT_FALSE(contains(fixed, "reg")) << fixed;
    std::string moved = hir_of(in("dwarf_basic-gcc-O0-5", "function(\"nothing\")"), "@var(\"global_counter\")");
    EXPECT_TRUE(contains(moved, of_host("reg16", "reg32"))) << moved;
    moved =
        hir_of(in("dwarf_basic-gcc-O0-5", "function(\"nothing\").return"), "@var(\"global_counter@dwarf_basic.c\")");
    EXPECT_TRUE(contains(moved, "entry0 = ")) << moved;
}

// An address in a kernel module is relative to a symbol of the module, so it fits only the same build.
TEST(Variables, GlobalsOfKernelModules) {
    Session session;
    Result<KernelTypes*> kernel = session.env.kernel();
    ASSERT_TRUE(kernel) << kernel.error().message;
    ResolvedPoint point = session.resolve(in("dwarf_basic-fixed", "function(\"nothing\")"))[0];
    const ast::Probe& probe = *session.parse("probe never { @var(\"global_counter\") }")->probes[0];
    const auto& expr = ast::as<ast::TargetExpr>(*ast::as<ast::ExprStmt>(*probe.body->body[0]).expr);
    Binder binder{session.arena, session.diags, session.env, nullptr, nullptr};
    std::string symbol;
    binder.symbol_address = [&](const std::string& name) {
        symbol = name;
        return session.arena.make<hir::ConstLong>(Range(), 0);
    };
    Bound of_program = bind_target(expr, point, binder);
    EXPECT_TRUE(of_program.expr && !of_program.needs_same_types && symbol.empty()) << session.messages();
    point.kernel = *kernel;
    point.point.module = "some";
    Bound of_module = bind_target(expr, point, binder);
    EXPECT_TRUE(of_module.expr && of_module.needs_same_types) << session.messages();
    EXPECT_TRUE(symbol.ends_with("\t[some]")) << symbol;
}

TEST(Variables, References) {
    std::string text = hir_of(in("dwarf_cxx-gcc-O0-5", "function(\"*secret\")"), "$value");
    EXPECT_TRUE(contains(text, "s32")) << text;
    text = hir_of(in("dwarf_cxx-gcc-O0-5", "function(\"area@*dwarf_cxx.cc\")"), "$shape->size_");
    EXPECT_TRUE(contains(text, "s32")) << text;
    EXPECT_TRUE(
        contains(hir_of(in("dwarf_cxx-gcc-O0-5", "function(\"area@*dwarf_cxx.cc\")"), "$shape->base_member"), "s32"));
}

TEST(Variables, Casts) {
    std::string point = in("dwarf_basic-gcc-O0-5", "function(\"nothing\")");
    for (auto [text, expected] : std::initializer_list<std::pair<const char*, const char*>>{
             {"@cast(i, \"int\")", "user.s32[i]"},
             {"@cast(i, \"int*\")", "u64(i)"},
             {"@cast(i, \"struct node\")", "i"},
             {"@cast(i, \"struct node\")->next->number", "user.s32[(user.u64[i] + 20)]"},
             {"@cast(i, \"node*\")->number", "user.s32[(u64(i) + 20)]"},
             {"@cast(i, \"struct node\")[2]->number", "user.s32[(u64(i) + 148)]"},
             {"@cast(i, \"struct node\")->matrix[1][2]", "user.s32[(i + 44)]"},
             {"&@cast(i, \"struct node\")->matrix[1]", "(i + 36)"},
         })
        EXPECT_TRUE(contains(hir_of(point, text), expected)) << text << ": " << hir_of(point, text);
}

TEST(Variables, Messages) {
    std::string point = in("values-O0", "function(\"walk\")");
    std::string text = hir_of(point, "$stepz");
    EXPECT_TRUE(contains(text, "error[unknown-variable]")) << text;
    EXPECT_TRUE(contains(text, "did you mean `$steps`?")) << text;
    EXPECT_TRUE(contains(text, "$head")) << text;
    text = hir_of(point, "$head->balanse");
    EXPECT_TRUE(contains(text, "error[unknown-member]")) << text;
    EXPECT_TRUE(contains(text, "did you mean `balance`?")) << text;
    EXPECT_TRUE(contains(hir_of(point, "$steps->x"), "error[type-mismatch]"));
    EXPECT_TRUE(contains(hir_of(point, "$head->inside"), "`$head->inside$`"));
    EXPECT_TRUE(contains(hir_of(point, "$head->table[3]"), "3 elements"));
    EXPECT_TRUE(contains(hir_of(point, "&$head->flag"), "bitfield"));
    EXPECT_TRUE(contains(hir_of(point, "$return"), "error[wrong-context]"));
    EXPECT_TRUE(contains(hir_of(point, "$$var"), "`$$vars`"));
    EXPECT_TRUE(contains(hir_of(point, "@cast(i, \"intt\")"), "error[unknown-type]"));
    EXPECT_TRUE(contains(hir_of(point, "@cast(i, \"int\", \"/no/such\")"), "error[bad-target]"));
    EXPECT_TRUE(contains(hir_of(point, "@cast(i, \"int\")->x"), "error[type-mismatch]"));
    EXPECT_TRUE(contains(hir_of("begin", "$x"), "needs a probe point in a program"));
    EXPECT_TRUE(contains(hir_of(in("values-O0", "function(\"nothing\").return"), "$return"), "returns nothing"));
    EXPECT_TRUE(contains(hir_of(in("values-O2", "function(\"divide\")"), "&$a"), "error[variable-unavailable]"));
    EXPECT_TRUE(contains(hir_of(in("dwarf_basic-plain", "function(\"add\")"), "$left"), "error[no-debug-info]"));
    EXPECT_TRUE(
        contains(hir_of(in("dwarf_basic-gcc-O0-5", "function(\"make_double\").return"), "$return"), "floating point"));
}

} // namespace
} // namespace sonde

// Other tracers' languages: recognizing them, and parsing of damaged scripts.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "frontend/bridge/bridge.h"

namespace sonde::bridge {
namespace {

TEST(Bridge, KnowsLanguages) {
    for (const char* text :
         {"kprobe:f { }", "BEGIN { exit(); }", "tracepoint:a:b / pid / { }", "// x\nprofile:hz:99 { }",
          "u:/bin/ls:main { }", "usdt:/bin/x:p:n { }", "#!/usr/bin/env bpftrace\nconfig = { }", "BEGIN{ }"})
        EXPECT_EQ(guess_dialect(text), Dialect::Bpftrace) << text;
    for (const char* text :
         {"syscall::read:entry { }", "dtrace:::BEGIN { }", "profile-97 { }", "tick-1s", "pid$target:a.out:f:entry { }",
          "#!/usr/sbin/dtrace -s\n#pragma D option quiet\nBEGIN { }", "BEGIN { self->x = 1; }", ":::tick-1s { }"})
        EXPECT_EQ(guess_dialect(text), Dialect::Dtrace) << text;
    EXPECT_EQ(guess_dialect("perf probe -x /bin/ls main"), Dialect::Perf);
    for (const char* text : {"", "probe begin { }", "global x", "begin { }", "process(\"a:b\").function(\"f\") { }",
                             "x", "function f() { }", "%( kernel_v > \"5\" %? probe begin { } %)", "# a:b:c:d { }"})
        EXPECT_FALSE(guess_dialect(text)) << text;
}

constexpr std::string_view bpftrace_sample =
    "#include <x.h>\nstruct s { int a; };\nkprobe:a, kprobe:b /comm == \"x\" && @s[tid] / { @[kstack, (1, 2)] = "
    "lhist($1, -1, 10, 2); $x = (struct s *)arg0; "
    "if ($x->a[1] > *(uint8*)arg1) { printf(\"%-5d%%%s%r\\n\", 1, str(arg0, 3), buf(arg1, 4)); } else { for ($i : @s) "
    "{ print($i.0 / 2, 3); } } "
    "unroll(2) { @s[tid]++; } while (1) { break; } } END { clear(@); return; }";
constexpr std::string_view dtrace_sample =
    "#pragma D option quiet\nint x;\npid$target:libc:f:entry, tick-1s /self->t[1] && x/ { this->a = x[1, \"b\"]++; "
    "@n[ustack(3)] = "
    "quantize(arg0 ? 1 : 2); printa(\"%s %@d %k\", @n); trunc(@n, 3); curpsinfo->pr_psargs; `jiffies; }";
constexpr std::string_view perf_sample = "perf probe -x /bin/ls 'g:e=main@f.c:3 a.b->c[1]:x32 +8(-u4(%di)):string \\5 "
                                         "@x $stack3 $vars' --add 'f%return $retval'";

// Tries each prefix of the text, and each text with one byte removed or replaced.
void try_mutants(Dialect dialect, std::string_view sample) {
    size_t good = 0;
    const auto translate = [&](const std::string& text) {
        Result<Bridged> out = translate_from(dialect, text, {});
        good += out.ok();
        guess_dialect(text);
    };
    for (size_t at = 0; at < sample.size(); at++) {
        const std::string before(sample.substr(0, at)), after(sample.substr(at + 1));
        translate(before);
        translate(before + after);
        for (char other : {'"', '(', '{', '}', '@', '/', '$', '*', '\0', ':', '.', '\\'})
            translate(before + other + after);
    }
    translate(std::string(sample));
    EXPECT_GT(good, sample.size()) << sample;
}

TEST(Bridge, NoTextBreaksIt) {
    try_mutants(Dialect::Bpftrace, bpftrace_sample);
    try_mutants(Dialect::Dtrace, dtrace_sample);
    try_mutants(Dialect::Perf, perf_sample);
    for (const char* one : {"(", "{", "!", "-", "$x[", "a ? ", "if (1) ", "*(int*)"}) {
        std::string deep = "BEGIN { ";
        for (int i = 0; i < 100000; i++)
            deep += one;
        EXPECT_FALSE(translate_from(Dialect::Bpftrace, deep, {})) << one;
    }
}

} // namespace
} // namespace sonde::bridge

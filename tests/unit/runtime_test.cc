// The parts of runtime that need no kernel: formats, histograms, saved plans, arrays, verifier logs, and sessions
// without handlers.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/fd.h"
#include "runtime/engine/host_object.h"
#include "runtime/engine/session.h"
#include "runtime/load/verifier_log.h"
#include "runtime/plan/array_maps.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/plan_file.h"
#include "runtime/sinks/printing.h"
#include "runtime/values/format.h"
#include "runtime/values/histogram.h"
#include "runtime/values/host_arrays.h"

namespace sonde {
namespace {

using plan::Directive;
using plan::StatsNeeds;

// ---- printf ---------------------------------------------------------------------------------------------------------

Directive directive(Directive::Kind kind, char conversion, char flag = 0, int width = -1, int precision = -1) {
    Directive out;
    out.kind = kind;
    out.conversion = conversion;
    out.flag = flag;
    out.width = width;
    out.precision = precision;
    return out;
}

std::vector<uint8_t> payload(const std::vector<int64_t>& longs, const std::string& rest = "") {
    const auto* bytes = reinterpret_cast<const uint8_t*>(longs.data());
    std::vector<uint8_t> out(bytes, bytes + longs.size() * 8);
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
}

std::string print(const Directive& one, const std::vector<int64_t>& longs, const std::string& rest = "") {
    return render_print(plan::Format{{one}}, payload(longs, rest));
}

std::string number(int64_t value, char conversion, char flag = 0, int width = -1, int precision = -1) {
    return print(directive(Directive::Integer, conversion, flag, width, precision), {value});
}

TEST(Format, Integers) {
    EXPECT_EQ(number(42, 'd'), "42");
    EXPECT_EQ(number(-42, 'd', 0, 6), "   -42");
    EXPECT_EQ(number(-42, 'd', '0', 6), "-00042");
    EXPECT_EQ(number(-42, 'd', '-', 6), "-42   ");
    EXPECT_EQ(number(42, 'd', '+'), "+42");
    EXPECT_EQ(number(42, 'i', ' '), " 42");
    EXPECT_EQ(number(7, 'd', 0, 6, 3), "   007");
    EXPECT_EQ(number(INT64_MIN, 'd'), "-9223372036854775808");
    EXPECT_EQ(number(-1, 'u'), "18446744073709551615");
}

// The precision is the number of the value's bytes; the width is that of the field, which is filled with NULs.
TEST(Format, Binary) {
    auto bytes = [](int width, int precision, char flag = 0) {
        return print(directive(Directive::Binary, 'b', flag, width, precision), {0x4847464544434241});
    };
    EXPECT_EQ(bytes(-1, -1), "ABCDEFGH");
    EXPECT_EQ(bytes(2, -1), "AB");
    EXPECT_EQ(bytes(3, -1), "ABCDEFGH");
    EXPECT_EQ(bytes(-1, 2), "AB");
    EXPECT_EQ(bytes(-1, 3), "ABCDEFGH");
    EXPECT_EQ(bytes(1, 8), "ABCDEFGH");
    EXPECT_EQ(bytes(4, 1), (std::string{0, 0, 0, 'A'}));
    EXPECT_EQ(bytes(4, 1, '-'), (std::string{'A', 0, 0, 0}));
    EXPECT_EQ(bytes(10, -1), (std::string{0, 0} + "ABCDEFGH"));
}

TEST(Format, Bases) {
    EXPECT_EQ(number(255, 'x'), "ff");
    EXPECT_EQ(number(255, 'X', '#'), "0XFF");
    EXPECT_EQ(number(255, 'x', '#', 6), "  0xff");
    EXPECT_EQ(number(0, 'x', '#'), "0x0");
    EXPECT_EQ(number(8, 'o', '#'), "010");
    EXPECT_EQ(number(-1, 'x'), "ffffffffffffffff");
}

TEST(Format, CharactersAndEscapes) {
    EXPECT_EQ(print(directive(Directive::Char, 'c'), {'A'}), "A");
    EXPECT_EQ(print(directive(Directive::Char, 'c', 0, 3), {'A'}), "  A");
    EXPECT_EQ(print(directive(Directive::Char, 'c', '#'), {'\n'}), "\\n");
    EXPECT_EQ(print(directive(Directive::Char, 'c', '#'), {1}), "\\001");
}

TEST(Format, Strings) {
    std::string text("abc\0", 4);
    EXPECT_EQ(print(directive(Directive::String, 's'), {}, text), "abc");
    EXPECT_EQ(print(directive(Directive::String, 's', 0, 5), {}, text), "  abc");
    EXPECT_EQ(print(directive(Directive::String, 's', '-', 5), {}, text), "abc  ");
    EXPECT_EQ(print(directive(Directive::String, 's', 0, -1, 2), {}, text), "ab");
    EXPECT_EQ(print(directive(Directive::String, 's', '0'), {}, text), text);
}

TEST(Format, ArgumentsForWidthAndPrecisionComeFirst) {
    Directive both = directive(Directive::Integer, 'd');
    both.width_is_arg = both.precision_is_arg = true;
    EXPECT_EQ(print(both, {6, 3, 7}), "   007");
    // Strings are stored after all numbers.
    Directive string = directive(Directive::String, 's'), integer = directive(Directive::Integer, 'd');
    string.precision_is_arg = true;
    std::string rest("hello\0", 6);
    EXPECT_EQ(render_print(plan::Format{{string, integer}}, payload({3, 42}, rest)), "hel42");
}

TEST(Format, RawBytes) {
    EXPECT_EQ(print(directive(Directive::Binary, 'b', 0, 2), {0x4241}), "AB");
    EXPECT_EQ(print(directive(Directive::Binary, 'b'), {0x41}), std::string("A\0\0\0\0\0\0\0", 8));
    std::string block("\x02\x00\x00\x00\x0a\xff", 6);
    EXPECT_EQ(print(directive(Directive::Memory, 'M'), {}, block), "0aff");
    EXPECT_EQ(print(directive(Directive::Memory, 'm'), {}, block), "\x0a\xff");
}

TEST(Format, ShortRecordsGiveWhatIsThere) {
    Directive string = directive(Directive::String, 's'), integer = directive(Directive::Integer, 'd');
    EXPECT_EQ(render_print(plan::Format{{integer, string}}, {}), "0");
    EXPECT_EQ(print(directive(Directive::Memory, 'M'), {}, std::string("\xff\xff\xff\xff\x01", 5)), "01");
    Directive histogram = directive(Directive::Histogram, 0);
    histogram.stats.histogram = StatsNeeds::Log;
    EXPECT_NE(print(histogram, {}), "");
}

// ---- statistics -----------------------------------------------------------------------------------------------------

std::string dashes() { return std::string(50, '-'); }
std::string row(const std::string& label, size_t bar, const std::string& count) {
    return std::string(5 - label.size(), ' ') + label + " |" + std::string(bar, '@') + std::string(50 - bar, ' ') +
           " " + count + "\n";
}

plan::StatsBlock block_of(const std::vector<int64_t>& values) {
    plan::StatsBlock out{};
    unsigned __int128 squares = 0;
    for (int64_t value : values) {
        uint64_t biased = static_cast<uint64_t>(value) + (1ull << 63);
        out.count++;
        out.sum += value;
        out.min_biased = std::max(out.min_biased, ~biased);
        out.max_biased = std::max(out.max_biased, biased);
        squares += static_cast<unsigned __int128>(static_cast<__int128>(value) * value);
    }
    out.squares_low = static_cast<uint64_t>(squares);
    out.squares_high = static_cast<uint64_t>(squares >> 64);
    return out;
}

// A histogram with these counts.
std::string drawn(const StatsNeeds& needs, std::vector<uint64_t> counts) {
    counts.insert(counts.begin(), sizeof(plan::StatsBlock) / 8, 0);
    return render_histogram(needs, counts.data());
}

TEST(Histogram, LogarithmicStartsAtZeroWithoutNegativeValues) {
    StatsNeeds log{.histogram = StatsNeeds::Log};
    std::vector<uint64_t> counts(128);
    counts[65] = 9; // 1
    counts[67] = 2; // 4..7
    EXPECT_EQ(drawn(log, counts), "value |" + dashes() + " count\n" + row("0", 0, "0") + row("1", 9, "9") +
                                      row("2", 0, "0") + row("4", 2, "2") + row("8", 0, "0") + row("16", 0, "0") +
                                      "\n");
    counts.assign(128, 0);
    counts[63] = 1; // -1
    EXPECT_EQ(drawn(log, counts), "value |" + dashes() + " count\n" + row("-4", 0, "0") + row("-2", 0, "0") +
                                      row("-1", 1, "1") + row("0", 0, "0") + row("1", 0, "0") + "\n");
}

TEST(Histogram, LongGapsAreElided) {
    StatsNeeds log{.histogram = StatsNeeds::Log};
    std::vector<uint64_t> counts(128);
    counts[64] = 1;
    counts[70] = 1; // 32: five empty rows between
    EXPECT_EQ(drawn(log, counts), "value |" + dashes() + " count\n" + row("0", 1, "1") + row("1", 0, "0") +
                                      row("2", 0, "0") + "      ~\n" + row("8", 0, "0") + row("16", 0, "0") +
                                      row("32", 1, "1") + row("64", 0, "0") + row("128", 0, "0") + "\n");
}

TEST(Histogram, LinearScalesAndShowsWhatLiesOutside) {
    StatsNeeds linear{.histogram = StatsNeeds::Linear, .low = 0, .high = 20, .width = 10};
    ASSERT_EQ(linear.buckets(), 5u);
    std::vector<uint64_t> counts = {0, 101, 0, 3, 0};
    EXPECT_EQ(drawn(linear, counts), "value |" + dashes() + " count\n" + row("0", 33, "101") + row("10", 0, "  0") +
                                         row("20", 1, "  3") + "\n");
    counts = {1, 0, 0, 0, 2};
    EXPECT_EQ(drawn(linear, counts), "value |" + dashes() + " count\n" + row("<0", 1, "1") + row("0", 0, "0") +
                                         row("10", 0, "0") + row("20", 0, "0") + row(">20", 2, "2") + "\n");
}

TEST(Histogram, UnicodeHasSharesAndPercentiles) {
    const StatsNeeds log{
        .histogram = StatsNeeds::Log, .elision = 0, .bar_width = 4, .unicode = true, .quantiles = true};
    std::vector<uint64_t> words(plan::stats_bytes(log) / 8);
    plan::StatsBlock block = block_of({1, 4, 4, 4, 5});
    std::memcpy(words.data(), &block, sizeof block);
    uint64_t* counts = words.data() + sizeof block / 8;
    counts[65] = 1;
    counts[67] = 4;
    uint64_t* quantiles = counts + log.buckets();
    quantiles[sonde_quantile_bucket(1)] = 1;
    quantiles[sonde_quantile_bucket(4)] = 3;
    quantiles[sonde_quantile_bucket(5)] = 1;
    EXPECT_EQ(render_histogram(log, words.data()), "value |---- count  share\n"
                                                   "      ~\n"
                                                   "    1 |█        1  20.0%\n"
                                                   "      ~\n"
                                                   "    4 |████     4  80.0%\n"
                                                   "p50 4  p90 5  p99 5  max 5\n\n");
}

TEST(Histogram, Empty) {
    StatsNeeds log{.histogram = StatsNeeds::Log};
    std::vector<uint64_t> counts(128);
    EXPECT_EQ(drawn(log, counts), "value |" + dashes() + " count\n\n");
}

TEST(Stats, Values) {
    plan::StatsBlock block = block_of({10, 20, 30, 40, 50});
    StatsView view{&block, nullptr};
    EXPECT_EQ(view.min(), 10);
    EXPECT_EQ(view.max(), 50);
    EXPECT_EQ(view.avg(), 30);
    EXPECT_EQ(view.variance(), 250);
    block = block_of({-3, -4});
    EXPECT_EQ(view.min(), -4);
    EXPECT_EQ(view.max(), -3);
    EXPECT_EQ(view.avg(), -3); // towards zero
    block = block_of({7});
    EXPECT_EQ(view.variance(), 0);
    // The squares need more than 64 bits.
    block = block_of({5000000000, -5000000000});
    EXPECT_EQ(static_cast<uint64_t>(view.variance()),
              static_cast<uint64_t>(static_cast<__int128>(5000000000) * 10000000000));
}

// ---- saved Plans ----------------------------------------------------------------------------------------------------

plan::Plan sample_plan() {
    plan::Plan plan;
    plan.script = "script.stp";
    plan.bpf_object = {1, 2, 3};
    plan.host_object = {4, 5};
    plan.data_size = sizeof(plan::SessionWords) + 8;
    plan.lines = {"probe begin {}"};
    plan::Global scalar;
    scalar.name = "x";
    scalar.offset = sizeof(plan::SessionWords);
    scalar.initial_long = -7;
    plan::Global array;
    array.name = "a";
    array.keys = {{plan::Value::Long, plan.max_string + 8, 4, false, true},
                  {plan::Value::String, 0, plan.max_string},
                  {plan::Value::Long, plan.max_string, 8},
                  {plan::Value::Long, plan.max_string + 12, 4}};
    array.in_kernel = true;
    array.map = "g_a";
    array.capacity = 4;
    array.key_size = plan.max_string + 16;
    array.value_size = 16;
    plan.globals = {scalar, array};
    plan.texts = {"", "open", "read"};
    plan.formats = {plan::Format{{directive(Directive::Integer, 'd', '-', 4)}}};
    plan.sites = {{"division by 0", {"operator '/' at <input>:1:2"}}};
    plan::Probe probe;
    probe.name = "probe_0";
    probe.kind = plan::ProbeKind::Timer;
    probe.timer = {1000, 10};
    probe.points.emplace_back().pp = "timer.us(1)";
    plan.probes = {probe};
    plan.rows = probe.points;
    return plan;
}

TEST(PlanFile, ComesBackAsItWas) {
    plan::Plan plan = sample_plan();
    std::vector<uint8_t> saved = plan::save(plan);
    Result<plan::Plan> loaded = plan::load(saved);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ(plan::save(*loaded), saved);
    EXPECT_EQ(plan::dump(*loaded, {}), plan::dump(plan, {}));
    EXPECT_EQ(loaded->globals[0].initial_long, -7);
    EXPECT_EQ(loaded->lines, plan.lines);
    EXPECT_EQ(loaded->texts, plan.texts);
    EXPECT_TRUE(loaded->globals[1].keys[0].is_text && !loaded->globals[1].keys[1].is_text);
    EXPECT_EQ(loaded->formats[0].directives[0].width, 4);
}

TEST(PlanFile, RefusesEveryTruncation) {
    std::vector<uint8_t> saved = plan::save(sample_plan());
    for (size_t size = 0; size < saved.size(); size++)
        EXPECT_FALSE(plan::load(std::span(saved).first(size)).ok()) << size;
    saved.push_back(0);
    EXPECT_FALSE(plan::load(saved).ok());
}

TEST(PlanFile, IsForOneMachine) {
    for (const Architecture* machine : machines()) {
        plan::Plan plan = sample_plan();
        plan.machine = machine->machine();
        const std::vector<uint8_t> saved = plan::save(plan);
        for (const Architecture* other : machines()) {
            const Result<plan::Plan> loaded = plan::load(saved, *other);
            ASSERT_EQ(loaded.ok(), other == machine);
            if (loaded.ok())
                EXPECT_EQ(loaded->machine, plan.machine);
            else
                EXPECT_TRUE(loaded.error().message.starts_with(
                    fmt::format("it is for {}; this machine is {}", machine->name(), other->name())));
        }
    }
}

// The numbers of classes differ between architectures.
TEST(PlanFile, ChecksPlacesByItsMachine) {
    for (const Architecture* machine : machines()) {
        plan::Plan plan = sample_plan();
        plan.machine = machine->machine();
        plan::ProbedFile& file = plan.files.emplace_back();
        file.code.emplace_back().hazard = static_cast<Hazard>(machine->hazards().size() - 1);
        EXPECT_TRUE(plan::load(plan::save(plan), *machine).ok());
        file.code[0].hazard = static_cast<Hazard>(machine->hazards().size());
        EXPECT_FALSE(plan::load(plan::save(plan), *machine).ok());
    }
}

TEST(PlanFile, SurvivesEveryFlippedByte) {
    std::vector<uint8_t> saved = plan::save(sample_plan());
    for (size_t i = 0; i < saved.size(); i++)
        for (uint8_t flip : {0x01, 0x80, 0xff}) {
            std::vector<uint8_t> copy = saved;
            copy[i] ^= flip;
            static_cast<void>(plan::load(copy).ok());
        }
}

TEST(PlanFile, RefusesWhatWouldLieOutside) {
    auto refused = [](auto change) {
        plan::Plan plan = sample_plan();
        change(plan);
        return !plan::load(plan::save(plan)).ok();
    };
    EXPECT_TRUE(refused([](plan::Plan& p) { p.globals[0].offset = UINT64_MAX - 3; }));
    EXPECT_TRUE(refused([](plan::Plan& p) { p.globals[0].offset = 0; }));
    EXPECT_TRUE(refused([](plan::Plan& p) { p.globals[1].key_size = 8; }));
    EXPECT_TRUE(refused([](plan::Plan& p) { p.globals[1].value_size = 8; }));
    EXPECT_TRUE(refused([](plan::Plan& p) { p.globals[1].keys[0].offset += 4; }));
    EXPECT_TRUE(refused([](plan::Plan& p) { p.globals[1].keys[0].size = 8; }));
    EXPECT_TRUE(refused([](plan::Plan& p) { p.globals[1].keys[1].is_text = true; }));
    EXPECT_TRUE(refused([](plan::Plan& p) { p.globals[1].keys[2].size = 4; }));
    EXPECT_TRUE(refused([](plan::Plan& p) { p.max_string = 100; }));
    EXPECT_TRUE(refused([](plan::Plan& p) { p.bpf_object.clear(); }));
    EXPECT_TRUE(refused([](plan::Plan& p) { p.sites[0].message.id = static_cast<plan::ErrorId>(200); }));
    EXPECT_TRUE(refused([](plan::Plan& p) {
        p.formats[0].directives[0].stats = {.histogram = StatsNeeds::Linear, .low = 0, .high = INT64_MAX, .width = 1};
    }));
}

// ---- arrays ---------------------------------------------------------------------------------------------------------

TEST(Arrays, KeysHaveNarrowNumbers) {
    const char key[] = {'\xff', '\xff', '\xff', '\xff', '\xfe', '\xff', '\xff', '\xff'};
    EXPECT_EQ(plan::number_in({plan::Value::Long, 0, 8}, key), -0x100000001);
    EXPECT_EQ(plan::number_in({plan::Value::Long, 4, 4}, key), -2);
    EXPECT_EQ(plan::number_in({plan::Value::Long, 4, 4, false}, key), 0xfffffffe);
}

std::string word(int64_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

plan::Global long_array(uint64_t capacity, bool wrap) {
    plan::Global out;
    out.name = "a";
    out.keys = {{plan::Value::Long, 0, 8}};
    out.capacity = capacity;
    out.wrap = wrap;
    out.key_size = 8;
    out.value_size = 16;
    return out;
}

std::string keys_of(const std::vector<ArrayElement>& elements) {
    std::string out;
    for (const ArrayElement& element : elements) {
        int64_t key = 0;
        std::memcpy(&key, element.key.data(), 8);
        out += std::to_string(key) + " ";
    }
    return out;
}

TEST(HostArray, FullAndWrapping) {
    plan::Global full = long_array(2, false), wraps = long_array(2, true);
    std::unique_ptr<HostArray> a = make_host_array(full), b = make_host_array(wraps);
    for (int64_t key : {3, 1}) {
        EXPECT_EQ(a->store(word(key), word(0)), HostOk);
        EXPECT_EQ(b->store(word(key), word(0)), HostOk);
    }
    EXPECT_EQ(a->store(word(2), word(0)), HostArrayFull);
    EXPECT_EQ(a->store(word(3), word(9)), HostOk); // exists already
    EXPECT_EQ(keys_of(a->snapshot()), "3 1 ");
    EXPECT_EQ(b->store(word(2), word(0)), HostOk);
    EXPECT_EQ(keys_of(b->snapshot()), "1 2 ");
    std::string value;
    EXPECT_FALSE(b->load(word(3), value));
    a->erase(word(3));
    a->erase(word(77));
    EXPECT_EQ(a->store(word(2), word(0)), HostOk);
    EXPECT_EQ(keys_of(a->snapshot()), "1 2 ");
}

TEST(HostArray, NoRoomAtAll) {
    plan::Global none = long_array(0, false);
    EXPECT_EQ(make_host_array(none)->store(word(1), word(1)), HostArrayFull);
}

TEST(HostArray, SortsStably) {
    plan::Global global = long_array(10, false);
    std::unique_ptr<HostArray> array = make_host_array(global);
    for (auto [key, value] : {std::pair<int64_t, int64_t>{5, 1}, {-2, 3}, {9, 1}, {0, 2}})
        EXPECT_EQ(array->store(word(key), word(value)), HostOk);
    auto sorted = [&](int32_t direction, int32_t column, int64_t limit = -1) {
        std::vector<ArrayElement> elements = array->snapshot();
        HostForeach spec{0, direction, column, 0, 0, limit, 0, nullptr};
        sort_elements(global, 512, spec, elements);
        return keys_of(elements);
    };
    EXPECT_EQ(sorted(0, 0), "5 -2 9 0 ");
    EXPECT_EQ(sorted(+1, 0), "5 9 0 -2 ");
    EXPECT_EQ(sorted(-1, 0), "-2 0 5 9 ");
    EXPECT_EQ(sorted(+1, 1), "-2 0 5 9 ");
    EXPECT_EQ(sorted(-1, 1), "9 5 0 -2 ");
    EXPECT_EQ(sorted(+1, 0, 3), "5 9 0 ");
    EXPECT_EQ(sorted(-1, 0, 0), "");
    EXPECT_EQ(sorted(-1, 0, 9), "-2 0 5 9 ");
}

TEST(HostArray, Slices) {
    plan::Global global = long_array(10, false);
    global.keys = {{plan::Value::String, 0, 8}, {plan::Value::Long, 8, 8}};
    std::string one = std::string("ab\0\0\0\0\0\0", 8) + word(1), two = std::string("ab\0\0\0\0\0\0", 8) + word(2);
    EXPECT_TRUE(matches_slice(global, one, 1, two.data()));
    EXPECT_FALSE(matches_slice(global, one, 3, two.data()));
    EXPECT_TRUE(matches_slice(global, one, 0, two.data()));
}

plan::Global array_of_texts(std::vector<plan::KeyPart> keys) {
    plan::Global out = long_array(10, false);
    out.in_kernel = true;
    out.map = "g0";
    out.keys = std::move(keys);
    out.key_size = 0;
    for (const plan::KeyPart& key : out.keys)
        out.key_size += key.size;
    return out;
}

TEST(ArrayMaps, OnlyLongStringsHaveIdentities) {
    plan::Global text = array_of_texts({{plan::Value::String, 0, 512}, {plan::Value::Long, 512, 4}});
    EXPECT_TRUE(plan::has_identities(text));
    EXPECT_EQ(plan::map_key_size(text), 16u);
    EXPECT_EQ(plan::map_value_size(text), 16u + 520u);
    plan::Global brief = array_of_texts({{plan::Value::String, 0, 64}});
    EXPECT_FALSE(plan::has_identities(brief));
    EXPECT_EQ(plan::map_key_size(brief), 64u);
    EXPECT_EQ(plan::map_value_size(brief), 16u);
    for (auto change : std::initializer_list<void (*)(plan::Global&)>{[](plan::Global& g) { g.in_kernel = false; },
                                                                      [](plan::Global& g) { g.wrap = true; },
                                                                      [](plan::Global& g) { g.value_size = 1040; }}) {
        plan::Global other = text;
        change(other);
        EXPECT_FALSE(plan::has_identities(other));
    }
}

TEST(ArrayMaps, IdentitiesOfKeys) {
    const plan::Global array = array_of_texts({{plan::Value::String, 0, 512}, {plan::Value::Long, 512, 4}});
    auto identity = [&](const std::string& text, char rest, uint32_t number) {
        std::string key = text + std::string(1, '\0');
        key.resize(512, rest);
        key.append(reinterpret_cast<const char*>(&number), 4);
        const sonde_identity out = plan::identity_of(array, key);
        return std::pair(out.word[0], out.word[1]);
    };
    std::set<std::pair<unsigned long long, unsigned long long>> seen;
    std::set<unsigned long long> words;
    for (size_t length : {0, 1, 7, 8, 9, 15, 16, 31, 32, 33, 510, 511})
        for (uint32_t number : {1u, 0xffffffffu}) {
            const auto found = identity(std::string(length, 'x'), '\0', number);
            EXPECT_EQ(found, identity(std::string(length, 'x'), '\x80', number)) << length;
            seen.insert(found);
            words.insert({found.first, found.second});
        }
    EXPECT_EQ(seen.size(), 24u);
    EXPECT_EQ(words.size(), 48u); // each word alone tells them apart
    EXPECT_NE(identity("ab", '\0', 1), identity("ab\x80", '\0', 1));
    EXPECT_EQ(identity("", '\0', 0), std::pair(0ull, 0ull)); // the identity of nothing
}

// ---- host code, verifier, sessions ----------------------------------------------------------------------------------

TEST(HostObject, RefusesWhatIsNoObject) {
    for (size_t size : {0, 3, 63, 64, 500}) {
        std::vector<uint8_t> bytes(size, 0x7f);
        EXPECT_FALSE(HostObject::load(bytes).ok()) << size;
    }
}

TEST(VerifierLog, NamesTheLineAndTheReason) {
    std::string text = explain_verifier_log("0: R1=ctx() R10=fp0\n"
                                            "; x = 1 / y @ script.stp:3\n"
                                            "1: (bf) r1 = r6                       ; R1_w=scalar()\n"
                                            "R2 invalid mem access 'scalar'\n"
                                            "processed 2 insns (limit 1000000) max_states_per_insn 0\n");
    EXPECT_EQ(text, "the kernel's verifier refuses the handler at script.stp:3: `x = 1 / y`: R2 invalid mem access "
                    "'scalar'");
    // Lines of sonde's own routines have no text; the script's line calls them.
    text = explain_verifier_log("; print(x) @ script.stp:3\n0: (85) call pc+7\n;  @ text.h:39\n8: (b7) r0 = 0\n"
                                "R2 invalid mem access 'scalar'\n");
    EXPECT_NE(text.find("at script.stp:3: `print(x)`: R2"), std::string::npos) << text;
    text = explain_verifier_log("R1 type=scalar expected=fp\nCaller passes invalid args into func#1 ('f')\n");
    EXPECT_NE(text.find("R1 type=scalar expected=fp; Caller passes"), std::string::npos) << text;
    text =
        explain_verifier_log("; x @ script.stp:3\n0: (b7) r0 = 0\ncombined stack size of 5 calls is 576. Too large\n");
    EXPECT_TRUE(text.starts_with("the handler's calls need 576 bytes of stack together, and BPF has 512 (")) << text;
    text = explain_verifier_log("; x @ script.stp:3\n0: (b7) r0 = 0\nThe sequence of 8193 jumps is too complex.\n");
    EXPECT_NE(text.find("at script.stp:3: `x`: checking it takes more steps than the kernel allows; "),
              std::string::npos)
        << text;
    text = explain_verifier_log("The address of function link_path_walk cannot be found\n");
    EXPECT_TRUE(text.starts_with("the kernel has no address of `link_path_walk`: its compiler has inlined")) << text;
    text = explain_verifier_log("12: (e5) BUG_e5\nunknown opcode e5\n");
    EXPECT_NE(text.find("no jumps that limit loops (Linux 6.9)"), std::string::npos) << text;
    EXPECT_NE(text.find("translate the script on this machine, or for this kernel with -r"), std::string::npos) << text;
    text = explain_verifier_log("Only fentry/fexit/fmod_ret and lsm programs can be sleepable\n");
    EXPECT_NE(text.find("handlers in the kernel need Linux 6.0 or later"), std::string::npos) << text;
    EXPECT_NE(explain_verifier_log("").find("no reason given"), std::string::npos);
}

TEST(Session, EndsByTimeAndByCommand) {
    plan::Plan plan;
    SessionOptions options;
    options.time_limit_s = 0.05;
    Result<int> status = run_session(plan, options);
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(*status, 0);
    options.time_limit_s = 20;
    options.command = "true";
    status = run_session(plan, options);
    ASSERT_TRUE(status.ok());
    EXPECT_EQ(*status, 0);
    options.command = "exit 3";
    status = run_session(plan, options);
    ASSERT_TRUE(status.ok());
    EXPECT_EQ(*status, 1);
}

TEST(Session, SaysWhatIsMissing) {
    plan::Plan plan;
    SessionOptions options;
    options.time_limit_s = 1;
    options.command = "/no/such/command --option";
    Result<int> status = run_session(plan, options);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message, "cannot run /no/such/command: no such file or directory");
}

TEST(Session, PrintsGlobalsToAFile) {
    plan::Plan plan;
    plan.data_size = sizeof(plan::SessionWords) + 8 + plan.max_string;
    plan::Global number, text;
    number.name = "n";
    number.offset = sizeof(plan::SessionWords);
    number.initial_long = 255;
    number.auto_print = true;
    number.print_as_pointer = true;
    text.name = "t";
    text.type = plan::Value::String;
    text.offset = number.offset + 8;
    text.initial_string = "a \"b\"\n";
    text.auto_print = true;
    plan.globals = {number, text};
    SessionOptions options;
    SessionHooks hooks;
    hooks.make_sinks = [](SessionData& data, Output& output) -> Result<Sinks> {
        Sinks sinks;
        sinks.push_back(make_text_sink(data, output, {}));
        return sinks;
    };
    options.time_limit_s = 0.01;
    options.output.path =
        (std::filesystem::temp_directory_path() / ("sonde-test-" + std::to_string(getpid()))).string();
    Result<int> status = run_session(plan, options, {}, hooks);
    ASSERT_TRUE(status.ok());
    Result<std::string> printed = read_file(options.output.path);
    std::filesystem::remove(options.output.path);
    ASSERT_TRUE(printed.ok());
    EXPECT_EQ(*printed, "n=0xff\nt=\"a \\\"b\\\"\\n\"\n");
    options.output.path = "/dev/full";
    status = run_session(plan, options, {}, hooks);
    ASSERT_TRUE(status.ok());
    EXPECT_EQ(*status, 1);
}

} // namespace
} // namespace sonde

// Saved plans with changed bytes: each is refused with a reason, or is a plan that can be linked and opened. A crash
// ends the whole program, which tests/run_unit reports.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/fuzz/try_plan.h"

namespace sonde {
namespace {

using Bytes = std::vector<uint8_t>;

// A plan that the built sonde has saved.
Bytes plan_of(const std::string& script) {
    const std::string folder =
        fmt::format("{}/plan_mutants.{}", std::filesystem::temp_directory_path().string(), getpid());
    std::filesystem::create_directories(folder);
    const std::string command =
        fmt::format("{}/../../sonde -p4 -m {}/plan -e '{}' >/dev/null", SONDE_TRIGGERS, folder, script);
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    Result<std::string> text = read_file(folder + "/plan.sonde");
    std::filesystem::remove_all(folder);
    EXPECT_TRUE(text.ok());
    return text ? Bytes(text->begin(), text->end()) : Bytes();
}

std::vector<Bytes> seeds() {
    const std::string program = fmt::format("process(\"{}/values-O2\")", SONDE_TRIGGERS);
    return {
        plan_of(
            "global a, s probe " + program +
            ".function(\"*\").call { a[pp(), tid()] <<< $$parms != \"\" s[execname()]++ } "
            "probe timer.ms(10) { foreach (k in s-) printf(\"%s %d\\n\", k, s[k]) } probe end { foreach ([p, t] in a) "
            "print(@hist_log(a[p, t])) }"),
        plan_of("global n, t probe " + program +
                ".function(\"main\").return { n++ t .= \"x\" print_ubacktrace() } "
                "function f(x) { return x > 1 ? x * f(x - 1) : 1 } probe begin { printf(\"%d\", f(5)) exit() }"),
        plan_of("probe begin { println(\"hello\") exit() }"),
    };
}

// Words that are unusual as sizes, counts and offsets.
const uint64_t words[] = {0,          1,          7,          0x7f,      0xff,       0xffff,
                          0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, UINT64_MAX, 1ull << 62};

void mutate(Bytes& bytes, std::mt19937_64& random, size_t begin) {
    if (bytes.size() <= begin)
        return;
    auto place = [&] { return begin + random() % (bytes.size() - begin); };
    switch (random() % 6) {
    case 0:
        bytes[place()] ^= static_cast<uint8_t>(1u << random() % 8);
        break;
    case 1:
        bytes[place()] = static_cast<uint8_t>(random());
        break;
    case 2:
    case 3: {
        const uint64_t word = words[random() % std::size(words)];
        const size_t width = size_t{1} << random() % 4, at = place() / width * width;
        if (at >= begin && at + width <= bytes.size())
            std::memcpy(&bytes[at], &word, width);
        break;
    }
    case 4:
        bytes.resize(place());
        break;
    default: {
        const size_t from = place(), to = place(),
                     size = std::min<size_t>(bytes.size() - std::max(from, to), random() % 64);
        std::memmove(&bytes[to], &bytes[from], size);
    }
    }
}

TEST(PlanMutants, ChecksumFindsEachChange) {
    std::mt19937_64 random(1);
    for (const Bytes& seed : seeds()) {
        ASSERT_EQ(try_plan(seed), Tried::Accepted);
        for (int i = 0; i < 300; i++) {
            Bytes mutant = seed;
            mutate(mutant, random, 0);
            EXPECT_TRUE(mutant == seed || try_plan(mutant) == Tried::Refused) << i;
        }
    }
}

// With a corrected checksum.
TEST(PlanMutants, SurviveWithoutTheChecksum) {
    std::mt19937_64 random(2);
    int refused = 0;
    for (const Bytes& seed : seeds())
        for (int i = 0; i < 600; i++) {
            Bytes mutant = seed;
            for (uint64_t more = random() % 3 + 1; more > 0; more--)
                mutate(mutant, random, plan::header_size);
            if (mutant.size() < plan::header_size)
                continue;
            plan::seal(mutant);
            refused += try_plan(mutant) != Tried::Accepted;
        }
    EXPECT_GT(refused, 100);
}

// Only the objects, which are most bytes of a plan and are read by libraries.
TEST(PlanMutants, ObjectsSurvive) {
    std::mt19937_64 random(3);
    int refused = 0;
    for (const Bytes& seed : seeds()) {
        Result<plan::Plan> plan = plan::load(seed);
        ASSERT_TRUE(plan.ok());
        for (int i = 0; i < 600; i++) {
            plan::Plan mutant = *plan;
            Bytes& object = i % 2 && !mutant.bpf_object.empty() ? mutant.bpf_object : mutant.host_object;
            // Sizes and offsets are in headers and tables, in the first and the last bytes.
            const size_t begin = random() % 2 ? 0 : object.size() - std::min<size_t>(object.size(), 2048);
            for (uint64_t more = random() % 3 + 1; more > 0; more--)
                mutate(object, random, begin);
            refused += try_plan(plan::save(mutant)) != Tried::Accepted;
        }
    }
    EXPECT_GT(refused, 100);
}

} // namespace
} // namespace sonde

// Reasons why a variable is unavailable complete a sentence about "it".
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/fd.h"
#include "frontend/variables/location.h"

namespace sonde {
namespace {

namespace fs = std::filesystem;

// The reasons that a source file gives, without what they are completed with.
std::vector<std::string> reasons_of(const fs::path& path) {
    Result<std::string> text = read_file(path.string());
    EXPECT_TRUE(text) << path;
    static const std::regex reason(
        R"re((?:unavailable|[ .]fail|why = |doubt = |too_early = |no_data = |float_\w+ = |wide_vector = |long_number = |odd_vector = |aligned = |unknown_type = |unreadable = |out_here = |why_ = |\? |: )\(?(?:\s*)(?:fmt::format\(\s*)?"((?:is|are|was|it|has|does|optimized|points|comes|gets|the|a|an) [^"]*)")re");
    std::vector<std::string> out;
    const std::string source = text ? *text : "";
    for (auto at = std::sregex_iterator(source.begin(), source.end(), reason); at != std::sregex_iterator(); ++at)
        out.push_back((*at)[1]);
    return out;
}

TEST(Unavailable, IsASentence) {
    EXPECT_EQ(unavailable_text("$x", "was optimized out"), "`$x` is not available here: it was optimized out");
    const std::regex sentence("`\\$x` is not available here: it (is|was|has|does|points|comes|gets) .*[^.]");
    size_t count = 0;
    for (const char* file : {"frontend/dwarf/location_expression.cc", "frontend/dwarf/locations.cc",
                             "frontend/dwarf/calling_convention.cc", "frontend/dwarf/parameter_locations.cc",
                             "arch/x86_64/passing.cc", "arch/arm64/passing.cc", "frontend/dwarf/value_shape.cc",
                             "frontend/dwarf/go_results.cc", "frontend/machine/usdt.cc", "frontend/variables/place.cc"})
        for (const std::string& reason : reasons_of(fs::path(SONDE_SOURCE) / file)) {
            count++;
            const std::string whole = unavailable_text("$x", reason);
            EXPECT_TRUE(std::regex_match(whole, sentence)) << whole;
        }
    EXPECT_GT(count, 50u); // otherwise the regular expression matches nothing
}

} // namespace
} // namespace sonde

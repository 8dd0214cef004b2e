// Saved Plans: `sonde -p4` writes one, `sonde FILE.sonde` runs it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/plan/plan.h"

namespace sonde::plan {

std::vector<uint8_t> save(const Plan& plan);
// Errors: not a saved plan, another version's, truncated, corrupt, or one that contradicts itself (plan_check.h).
Result<Plan> load(std::span<const uint8_t> bytes);

// Gives a file's bytes the header that their contents want: what tests and fuzzers change would be refused before it is
// read.
void seal(std::vector<uint8_t>& file);

Result<void> save_file(const Plan& plan, const std::string& path);
Result<Plan> load_file(const std::string& path);

} // namespace sonde::plan

// Saved plans: `sonde -p4` writes one, and `sonde FILE.sonde` runs it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/plan/plan.h"

namespace sonde::plan {

// Returns the plan as the contents of a file.
std::vector<uint8_t> save(const Plan& plan);
// Errors: the bytes are not a plan, or one for another machine, come from another version, are truncated or corrupt, or
// contradict themselves (plan_check.h).
Result<Plan> load(std::span<const uint8_t> bytes, const Architecture& machine = host_architecture());

// A global alone, for another process of the same session.
std::vector<uint8_t> save_global(const Global& global);
// Errors: the bytes are not a global.
Result<Global> load_global(std::span<const uint8_t> bytes);

constexpr size_t header_size = 40;
// Writes a valid header of this machine for the bytes that follow. For tests and fuzzers: otherwise the checksum would
// reject their changes before anything is parsed.
void seal(std::vector<uint8_t>& file);

// The same with files. Errors name the file. load_file() also refuses a file that another user could have changed,
// because a plan contains code (base/trusted_file.h).
Result<void> save_file(const Plan& plan, const std::string& path);
Result<Plan> load_file(const std::string& path);

} // namespace sonde::plan

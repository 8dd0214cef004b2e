// libFuzzer's entry point over saved plans: a file is refused or becomes a plan, and a plan that was loaded comes back
// from its own file.
#include <cstring>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "runtime/plan_file.h"

using namespace sonde;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // The magic would be found only by chance.
    std::vector<uint8_t> bytes = plan::save({});
    bytes.resize(8);
    bytes.insert(bytes.end(), data, data + size);
    Result<plan::Plan> plan = plan::load(bytes);
    if (!plan)
        return 0;
    std::vector<uint8_t> saved = plan::save(*plan);
    Result<plan::Plan> again = plan::load(saved);
    CHECK(again.ok());
    CHECK(plan::save(*again) == saved);
    return 0;
}

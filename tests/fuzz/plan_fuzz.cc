// libFuzzer's entry point for saved plans: a file is refused, or becomes a plan whose code can be linked and whose BPF
// object can be opened. Nothing is executed.
#include <vector>

#include "tests/fuzz/try_plan.h"

using namespace sonde;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // A fuzzer would find a valid header with its checksum only by chance.
    std::vector<uint8_t> bytes(plan::header_size);
    bytes.insert(bytes.end(), data, data + size);
    plan::seal(bytes);
    static_cast<void>(try_plan(bytes));
    return 0;
}

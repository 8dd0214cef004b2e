// libFuzzer's entry point over the compiler of call frame information: no bytes make it crash, and its rows are sorted.
//
// The first byte is the number of the section's bytes that are the code of a function without such information.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "runtime/symbols/cfi.h"
#include "runtime/symbols/file_table.h"

using namespace sonde;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0)
        return 0;
    std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const bool is_32_bit = data[0] & 1;
    std::vector<UnwindRow> rows = compile_cfi(bytes, 0x400000, is_32_bit);
    auto by_address = [](const UnwindRow& a, const UnwindRow& b) { return a.address < b.address; };
    CHECK(std::is_sorted(rows.begin(), rows.end(), by_address));
    for (const UnwindRow& row : rows)
        CHECK(SONDE_RULE_KIND(row.rule) <= SONDE_RULE_UNKNOWN);
    std::vector<UnwindRow> own = rows_of_prologue(0x1000, data[0], bytes.substr(0, data[0]), is_32_bit);
    CHECK(std::is_sorted(own.begin(), own.end(), by_address));
    return 0;
}

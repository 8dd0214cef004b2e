// libFuzzer's entry point for the compiler of call frame information. For any bytes, it does not crash, its rows are
// sorted, and its programs end. The same bytes are also read as a Go table and as a linkage table.
//
// The first byte chooses the architecture and the section. It is also the number of bytes that are the code of a
// function without such information.
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/go_table.h"
#include "runtime/plan/file_table.h"
#include "runtime/symbols/cfi.h"
#include "runtime/symbols/code_frames.h"
#include "runtime/symbols/unwind_rows.h"

using namespace sonde;

namespace {

// A program ends, its jumps stay within it, and its steps exist.
void check_rule(const UnwindRow& row, const std::vector<uint64_t>& steps) {
    if (SONDE_RULE_KIND(row.rule) != SONDE_RULE_STEPS)
        return;
    size_t at = SONDE_RULE_STEP(row.rule), end = at;
    while (end < steps.size() && SONDE_STEP_KIND(steps[end]) != SONDE_STEP_END)
        end++;
    CHECK(end < steps.size() && end - at < SONDE_STEPS_MOST);
    for (size_t i = at; i < end; i++) {
        const uint64_t step = steps[i];
        CHECK(SONDE_STEP_KIND(step) < SONDE_STEP_KINDS && SONDE_STEP_REGISTER_OF(step) < most_unwind_registers);
        if (SONDE_STEP_KIND(step) == SONDE_STEP_JUMP || SONDE_STEP_KIND(step) == SONDE_STEP_BRANCH) {
            const auto target = static_cast<int64_t>(i) + 1 + SONDE_STEP_NUMBER_OF(step);
            CHECK(target >= static_cast<int64_t>(at) && target <= static_cast<int64_t>(end));
        }
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0)
        return 0;
    std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const Architecture* const all[] = {architecture_of(EM_X86_64, false), architecture_of(EM_386, true),
                                       architecture_of(EM_AARCH64, false)};
    const Architecture& architecture = *all[(data[0] & 5) % 3];
    const CfiKind kind = data[0] & 2 ? CfiKind::DebugFrame : CfiKind::EhFrame;
    const UnwindRules rules = compile_cfi(bytes, 0x400000, kind, architecture);
    const std::vector<UnwindRow>& rows = rules.rows;
    auto by_address = [](const UnwindRow& a, const UnwindRow& b) { return a.address < b.address; };
    CHECK(std::is_sorted(rows.begin(), rows.end(), by_address));
    for (const UnwindRow& row : rows)
        check_rule(row, rules.steps);
    std::vector<UnwindRow> own = rows_by_code(0x1000, data[0], bytes.substr(0, data[0]), {{0x1000}}, architecture);
    CHECK(std::is_sorted(own.begin(), own.end(), by_address));
    std::vector<UnwindRow> stubs = rows_of_stubs(0x1000, bytes, architecture);
    CHECK(std::is_sorted(stubs.begin(), stubs.end(), by_address));
    for (const GoFrame& frame : read_go_frames(bytes, 0x400000))
        CHECK(frame.address < frame.end);
    return 0;
}

// libFuzzer's entry point for the formatter: for any text of valid tokens, the result has the same tokens, a second run
// changes nothing, and the edits for an editor give the same result.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/diag.h"
#include "base/source.h"
#include "frontend/formatter/format_script.h"
#include "frontend/lex/token.h"

using namespace sonde;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    Sources sources;
    Diagnostics diags(sources);
    lex_as_written(sources.add("fuzz", text), sources, diags);
    if (diags.has_errors())
        return 0;
    const Result<std::string> once = format_script(text);
    CHECK(once);
    const Result<std::string> twice = format_script(*once);
    CHECK(twice);
    CHECK(*once == *twice);
    std::string edited = text;
    const std::vector<TextEdit> edits = find_edits(text, *once);
    for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit)
        edited.replace(edit->begin, edit->end - edit->begin, edit->text);
    CHECK(edited == *once);
    return 0;
}

// libFuzzer's entry point for the parser: for any text, it does not crash, and a text that it accepts is equal to its
// own dump.
//
// The first byte chooses the options, to reach the privileged forms and the arguments.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "frontend/parse/parser.h"

using namespace sonde;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0)
        return 0;
    ParseOptions options;
    options.privileged = options.guru = data[0] & 1;
    options.kernel_release = "6.1.0-1-amd64";
    options.arch = "x86_64";
    static const KernelConfig config = {{"CONFIG_HZ", "250"}, {"CONFIG_BPF", "y"}};
    options.kernel_config = []() -> const KernelConfig& { return config; };
    if (data[0] & 2)
        options.args = {"12", "text", "read*", "\"a\" . $1", "/* no end"};
    Sources sources;
    Diagnostics diags(sources);
    Arena arena;
    FileId file = sources.add("fuzz", std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
    if (data[0] & 4) {
        for (const ast::ProbePoint* point : parse_probe_points(file, sources, options, arena, diags))
            ast::to_source(*point);
        diags.render(false);
        return 0;
    }
    std::string dump = ast::dump(*parse_file(file, sources, options, arena, diags));
    diags.say_held();
    diags.render(false);
    if (diags.has_errors())
        return 0;
    FileId again = sources.add("dump", dump);
    ParseOptions plain = options;
    plain.args.clear();
    std::string second = ast::dump(*parse_file(again, sources, plain, arena, diags));
    CHECK(!diags.has_errors());
    CHECK(dump == second);
    return 0;
}

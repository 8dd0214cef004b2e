#include "languages/php/interpreter.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "languages/interpreter_file.h"

namespace sonde {
namespace {

struct Version {
    std::string_view interface; // ZEND_MODULE_API_NO
    unsigned number;
};
// The versions whose number a message can tell.
constexpr Version versions[] = {{"20190902", 704}, {"20200930", 800}, {"20210902", 801}, {"20220829", 802},
                                {"20230831", 803}, {"20240924", 804}, {"20250925", 805}};

// Returns the layout of a version. The headers have it; tests/php_tests checks it.
std::optional<sonde_php> layout_of(unsigned version) {
    sonde_php out{.globals = 0,
                  .version = version,
                  .globals_frame = 488,
                  .globals_thrown = 880,
                  .code_count = 80,
                  .code = 88,
                  .code_file = 152,
                  .generator_frame = 56,
                  .generator_parent = 152,
                  .generator_placeholder = 184};
    if (version == 802)
        return out;
    if (version != 804 && version != 805)
        return std::nullopt;
    out.globals_frame = version == 804 ? 488 : 512;
    out.globals_thrown = out.globals_frame + 464;
    out.code_count = 96;
    out.code = 104;
    out.code_file = 168;
    return out;
}

// Returns what follows `API` in the text that identifies the interface: `20220829,NTS`.
std::string_view build_of(std::string_view constants) {
    constexpr std::string_view begin("\0API20", 6);
    for (size_t at = constants.find(begin); at != std::string_view::npos; at = constants.find(begin, at + 1)) {
        const std::string_view text = constants.substr(at + 4, constants.find('\0', at + 1) - at - 4);
        if (text.size() > 9 && text[8] == ',')
            return text;
    }
    return {};
}

} // namespace

Result<std::optional<PhpInterpreter>> read_php(const ElfFile& elf) {
    const InterpreterFile file(elf);
    InterpreterFile::Symbol globals, globals_of_threads, loop;
    file.find(
        {{"executor_globals", &globals}, {"executor_globals_offset", &globals_of_threads}, {"execute_ex", &loop}});
    const ElfSegment* code = file.code_at(loop.address);
    if ((!globals.address && !globals_of_threads.address) || !loop.size || !code || elf.is_32_bit())
        return std::optional<PhpInterpreter>();
    const std::string_view build = build_of(elf.section_data(".rodata"));
    if (build.empty())
        return Error("it does not say which version of PHP it is");
    const auto* const known = std::ranges::find(versions, build.substr(0, 8), &Version::interface);
    const std::string version = known == std::end(versions)
                                    ? fmt::format("a version of PHP with the interface {}", build.substr(0, 8))
                                    : fmt::format("PHP {}.{}", known->number / 100, known->number % 100);
    const std::optional<sonde_php> layout = known == std::end(versions) ? std::nullopt : layout_of(known->number);
    if (!layout)
        return Error(fmt::format("it is {}; sonde supports 8.2, 8.4 and 8.5", version));
    if (build.substr(9) != "NTS" || !globals.address)
        return Error(fmt::format("it is {} for threads or for debugging (`{}`); sonde supports builds with `NTS`",
                                 version, build.substr(9)));
    PhpInterpreter out;
    out.layout = *layout;
    out.layout.globals = globals.address - (code->address - code->offset);
    out.loop_entry = loop.address;
    out.loop = {{loop.address, loop.address + loop.size}};
    // The compiler has moved code that it considers unlikely. Jumps lead to it.
    std::vector<uint64_t> outside;
    file.follow(loop, [&](const Instruction& one, uint64_t next) {
        if (one.is_direct_jump() && one.target(next) - loop.address >= loop.size)
            outside.push_back(one.target(next));
        return true;
    });
    std::ranges::copy(file.functions_with(outside), std::back_inserter(out.loop));
    std::ranges::sort(out.loop);
    return std::optional(std::move(out));
}

} // namespace sonde

// libFuzzer's entry point for the arguments of static marks: any text yields a location, or a reason why there is no
// location.
#include <elf.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "frontend/machine/usdt.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    auto symbol = [](std::string_view name) -> std::optional<uint64_t> {
        return name == "known" ? std::optional<uint64_t>(0x1000) : std::nullopt;
    };
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const uint16_t machine : {EM_X86_64, EM_AARCH64})
        sonde::parse_usdt_argument(text, 0x4000, symbol, *sonde::architecture_of(machine, false));
    return 0;
}

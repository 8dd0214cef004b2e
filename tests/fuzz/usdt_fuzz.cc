// libFuzzer's entry point for the arguments of static marks: any text yields a location, or a reason why there is no
// location.
#include <cstdint>
#include <optional>
#include <string_view>

#include "frontend/machine/usdt.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    auto symbol = [](std::string_view name) -> std::optional<uint64_t> {
        return name == "known" ? std::optional<uint64_t>(0x1000) : std::nullopt;
    };
    sonde::parse_usdt_argument(std::string_view(reinterpret_cast<const char*>(data), size), 0x4000, symbol,
                               sonde::host_architecture());
    return 0;
}

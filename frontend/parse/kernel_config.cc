// Distributions store the configuration in different places. /proc/config.gz comes first, because it belongs to the
// running kernel itself. A file in /boot can be left over from another build of the same release.
#include "frontend/parse/kernel_config.h"

#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <zlib.h>

namespace sonde {

KernelConfig parse_kernel_config(const std::string& text) {
    KernelConfig out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        size_t equals = line.find('=');
        if (!line.starts_with("CONFIG_") || equals == std::string::npos)
            continue;
        std::string value = line.substr(equals + 1);
        if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
            value = value.substr(1, value.size() - 2);
        out[line.substr(0, equals)] = value;
    }
    return out;
}

Result<KernelConfig> read_kernel_config(const std::string& release, bool is_running, const std::string& root) {
    for (const std::string& path :
         {std::string(is_running ? "/proc/config.gz" : ""), fmt::format("{}/boot/config-{}", root, release),
          fmt::format("{}/lib/modules/{}/config", root, release)}) {
        if (path.empty())
            continue;
        // gzopen() reads uncompressed files as well.
        std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
        if (!file)
            continue;
        std::string text;
        char buffer[65536];
        for (int got = 0; (got = gzread(file.get(), buffer, sizeof buffer)) > 0;)
            text.append(buffer, static_cast<size_t>(got));
        return parse_kernel_config(text);
    }
    return Error(fmt::format("the configuration of kernel {} is not installed", release));
}

} // namespace sonde

#include "driver/pass.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include <fmt/format.h>

#include "driver/service.h"
#include "runtime/text/messages.h"

namespace sonde {

void say_error(const std::string& message) { say("ERROR: " + message); }

int say_failed(int pass) {
    const char* names[] = {"parse", "analysis", "translation", "compilation", "run"};
    fmt::print(stderr, "Pass {}: {} failed.\n", pass, names[pass - 1]);
    tell_manager(pass < 5 ? fmt::format("STATUS=the script does not translate ({} failed): the journal says why",
                                        names[pass - 1])
                          : "STATUS=the session failed: the journal says why");
    return exit_failure;
}

PassTimer::PassTimer(int pass, const Options& options)
    : pass_(pass), verbose_(options.driver.verbose[static_cast<size_t>(pass) - 1]), start_(now()) {}

PassTimer::Times PassTimer::now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto ms = [](const timeval& t) { return int64_t{t.tv_sec} * 1000 + t.tv_usec / 1000; };
    auto real = std::chrono::steady_clock::now().time_since_epoch();
    return {ms(usage.ru_utime), ms(usage.ru_stime),
            std::chrono::duration_cast<std::chrono::milliseconds>(real).count()};
}

namespace {
// The memory of this process, in SystemTap's form; empty if /proc is not readable.
std::string memory_used() {
    FILE* statm = fopen("/proc/self/statm", "re");
    long pages[6] = {};
    const bool known = statm && fscanf(statm, "%ld %ld %ld %ld %ld %ld", &pages[0], &pages[1], &pages[2], &pages[3],
                                       &pages[4], &pages[5]) == 6;
    if (statm)
        fclose(statm);
    const long kb = sysconf(_SC_PAGESIZE) / 1024;
    return known ? fmt::format(" using {}virt/{}res/{}shr/{}data kb,", pages[0] * kb, pages[1] * kb, pages[2] * kb,
                               pages[5] * kb)
                 : "";
}
} // namespace

void PassTimer::done(const std::string& what) const {
    if (verbose_ < 1)
        return;
    Times t = now();
    fmt::print(stderr, "Pass {}: {}{} in {}usr/{}sys/{}real ms.\n", pass_, what, pass_ <= 2 ? memory_used() : "",
               t.user - start_.user, t.system - start_.system, t.real - start_.real);
}

} // namespace sonde

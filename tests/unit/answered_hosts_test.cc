// The names and addresses for which the metrics server answers.
#include <gtest/gtest.h>

#include "runtime/sinks/metrics/answered_hosts.h"

namespace sonde {
namespace {

TEST(AnsweredHosts, OnLoopback) {
    const AnsweredHosts hosts("127.0.0.1", true);
    for (const char* good : {"localhost", "LOCALHOST:80", "localhost.", "127.0.0.1", "127.0.0.1:9435", "127.1.2.3",
                             "::1", "[::1]", "[::1]:9435"})
        EXPECT_TRUE(hosts.answers(good)) << good;
    for (const char* bad :
         {"", ":80", "[", "[]", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.1",
          "192.0.2.1:80", "[2001:db8::1]", "2130706433", "localhost@evil.example", "0x7f.1"})
        EXPECT_FALSE(hosts.answers(bad)) << bad;
}

TEST(AnsweredHosts, ForOtherMachines) {
    const AnsweredHosts hosts("metrics.example", false);
    for (const char* good : {"metrics.example", "Metrics.Example.:9435", "192.0.2.1:80", "[2001:db8::1]:80"})
        EXPECT_TRUE(hosts.answers(good)) << good;
    for (const char* bad : {"other.example", "example", "xmetrics.example"})
        EXPECT_FALSE(hosts.answers(bad)) << bad;
}

} // namespace
} // namespace sonde

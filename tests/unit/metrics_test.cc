// Names, texts and numbers of --metrics, without a session.
#include <gtest/gtest.h>

#include <cstring>

#include <fmt/format.h>

#include "runtime/sinks/metrics/families.h"
#include "runtime/sinks/metrics/open_metrics.h"
#include "runtime/sinks/metrics/otlp_delta.h"
#include "runtime/sinks/metrics/otlp_request.h"
#include "runtime/sinks/metrics/request.h"

namespace sonde {
namespace {

TEST(Metrics, Names) {
    EXPECT_EQ(metric_name("reads", "x"), "reads");
    EXPECT_EQ(metric_name("_kept_", "x"), "_kept_");
    EXPECT_EQ(metric_name("$a->b", "x"), "a_b");
    EXPECT_EQ(metric_name("9lives", "x"), "_9lives");
    EXPECT_EQ(metric_name("\xc3\xa4", "x"), "x");
    EXPECT_EQ(metric_name("", "x"), "x");
    EXPECT_EQ(label_name("execname()", "x"), "execname");
    EXPECT_EQ(label_name("user_string($order->item->name)", "x"), "user_string_order_item_name");
    EXPECT_EQ(label_name("__name__", "x"), "name__");
    EXPECT_EQ(label_name("__", "x"), "x");
}

TEST(Metrics, Addresses) {
    const auto parts = [](const std::string& text) {
        const Result<MetricsRequest> request = parse_metrics_address(text);
        return request ? request->host + " " + request->port : request.error().message;
    };
    EXPECT_EQ(parts(":9435"), "127.0.0.1 9435");
    EXPECT_EQ(parts("9435"), "127.0.0.1 9435");
    EXPECT_EQ(parts("[::1]:0"), "::1 0");
    EXPECT_EQ(parts("host:65535"), "host 65535");
    EXPECT_NE(parts("::1:9435").find("write an IPv6 address in brackets"), std::string::npos);
    EXPECT_NE(parts("host:http").find("`http` is not a port"), std::string::npos);
}

TEST(Metrics, OtlpUrls) {
    const auto parts = [](const std::string& text) {
        const Result<HttpTarget> target = parse_http_target(text, otlp_option);
        return target ? target->host + " " + target->host_and_port() + " " + target->path : target.error().message;
    };
    EXPECT_EQ(parts("http://a"), "a a:4318 ");
    EXPECT_EQ(parts("HTTP://a.b:80/"), "a.b a.b:80 ");
    EXPECT_EQ(parts("http://[::1]:9090/api/v1/otlp/"), "::1 [::1]:9090 /api/v1/otlp");
    EXPECT_NE(parts("http://::1:9090").find("not a URL"), std::string::npos);
    EXPECT_NE(parts("http://a b").find("not a URL"), std::string::npos);
    EXPECT_EQ(parts("https://a"), "a a:443 ");
    EXPECT_EQ(parts("https://a:4318/x"), "a a:4318 /x");
}

namespace {

std::vector<MetricFamily> counters(std::vector<std::pair<std::string, int64_t>> values, bool is_cut = false) {
    MetricFamily out;
    out.name = "n";
    out.kind = MetricKind::Counter;
    out.is_cut = is_cut;
    out.labels = {"key"};
    for (auto& [label, number] : values) {
        MetricPoint point;
        point.labels = {label};
        point.number = number;
        out.points.push_back(std::move(point));
    }
    return {std::move(out)};
}

std::string news(const OtlpBase& base, const std::vector<MetricFamily>& now) {
    std::string out;
    for (const MetricFamily& family : base.since(now))
        for (const MetricPoint& point : family.points)
            out += fmt::format("{}+{} ", point.labels[0], point.number);
    return out;
}

} // namespace

TEST(Metrics, Deltas) {
    OtlpBase base;
    EXPECT_EQ(news(base, counters({{"a", 3}, {"b", 0}})), "a+3 ");
    base.take(counters({{"a", 3}, {"b", 4}}), 1);
    EXPECT_EQ(news(base, counters({{"a", 5}, {"b", 4}, {"c", 1}})), "a+2 c+1 ");
    EXPECT_EQ(news(base, counters({{"a", 2}})), "a+2 "); // it was restarted
    // A series that was omitted for lack of room continues; a series that was deleted starts again.
    base.take(counters({{"b", 4}}, true), 2);
    EXPECT_EQ(news(base, counters({{"a", 5}, {"b", 6}})), "a+2 b+2 ");
    base.take(counters({{"b", 6}}), 3);
    EXPECT_EQ(news(base, counters({{"a", 5}, {"b", 6}})), "a+5 ");
}

TEST(Metrics, DeltasOfHistograms) {
    const auto histogram = [](std::vector<std::pair<int64_t, uint64_t>> buckets, uint64_t count, int64_t sum) {
        MetricFamily out;
        out.name = "h";
        out.kind = MetricKind::Histogram;
        MetricPoint point;
        point.buckets = std::move(buckets);
        point.count = count;
        point.sum = sum;
        out.points.push_back(std::move(point));
        return std::vector<MetricFamily>{std::move(out)};
    };
    OtlpBase base;
    base.take(histogram({{0, 1}, {1, 3}, {3, 3}}, 4, 20), 1);
    // New bounds appear with new values.
    const MetricPoint more = base.since(histogram({{-1, 2}, {0, 3}, {1, 5}, {3, 9}, {7, 9}}, 11, 50))[0].points.at(0);
    EXPECT_EQ(more.buckets, (std::vector<std::pair<int64_t, uint64_t>>{{-1, 2}, {0, 2}, {1, 2}, {3, 6}, {7, 6}}));
    EXPECT_EQ(more.count, 7u);
    EXPECT_EQ(more.sum, 30);
    EXPECT_TRUE(base.since(histogram({{0, 1}, {1, 3}, {3, 3}}, 4, 20))[0].points.empty());
    const MetricPoint anew = base.since(histogram({{0, 0}, {1, 2}, {3, 9}}, 10, 30))[0].points.at(0);
    EXPECT_EQ(anew.count, 10u);
    EXPECT_EQ(anew.buckets[1].second, 2u);
}

TEST(Metrics, Utf8) {
    EXPECT_EQ(valid_utf8("a\xc3\xa4\xf0\x9f\x98\x80"), "a\xc3\xa4\xf0\x9f\x98\x80");
    EXPECT_EQ(valid_utf8("\xff"), "\xef\xbf\xbd");
    EXPECT_EQ(valid_utf8("\xc3"), "\xef\xbf\xbd");                 // truncated
    EXPECT_EQ(valid_utf8("\xc0\x80"), "\xef\xbf\xbd\xef\xbf\xbd"); // not the shortest form
    EXPECT_EQ(valid_utf8("\xed\xa0\x80").size(), 9u);              // half of a surrogate pair
    EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80").size(), 12u);         // above the last character
}

TEST(Metrics, Accepts) {
    EXPECT_EQ(accepted_format(""), MetricsFormat::Prometheus);
    EXPECT_EQ(accepted_format("application/openmetrics-text"), MetricsFormat::OpenMetrics);
    EXPECT_EQ(accepted_format("text/plain;q=0.5, application/openmetrics-text;q=0.4"), MetricsFormat::Prometheus);
    EXPECT_EQ(accepted_format("application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5"),
              MetricsFormat::OpenMetrics);
}

TEST(Metrics, Texts) {
    MetricFamily family;
    family.name = "n";
    family.help = "a \"text\"";
    family.kind = MetricKind::Counter;
    family.labels = {"key"};
    family.points.push_back({{"a\"b\\c\nd"}, 3, 0, {}, 0, 0});
    EXPECT_EQ(metrics_text({family}, MetricsFormat::OpenMetrics),
              "# HELP n a \\\"text\\\"\n# TYPE n counter\nn_total{key=\"a\\\"b\\\\c\\nd\"} 3\n# EOF\n");
    EXPECT_EQ(metrics_text({family}, MetricsFormat::Prometheus),
              "# HELP n_total a \"text\"\n# TYPE n_total counter\nn_total{key=\"a\\\"b\\\\c\\nd\"} 3\n");
}

TEST(Metrics, Histograms) {
    MetricFamily family;
    family.name = "h";
    family.help = "x";
    family.kind = MetricKind::Histogram;
    family.points.push_back({{}, 0, 0, {{-4, 1}, {0, 2}, {1ll << 60, 3}}, 3, 5});
    EXPECT_EQ(metrics_text({family}, MetricsFormat::OpenMetrics),
              "# HELP h x\n# TYPE h histogram\nh_bucket{le=\"-4.0\"} 1\nh_bucket{le=\"0.0\"} 2\n"
              "h_bucket{le=\"1.152921504606847e+18\"} 3\nh_bucket{le=\"+Inf\"} 3\n# EOF\n");
    EXPECT_NE(metrics_text({family}, MetricsFormat::Prometheus).find("h_sum 5\nh_count 3\n"), std::string::npos);
}

} // namespace
} // namespace sonde

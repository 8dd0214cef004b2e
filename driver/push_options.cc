#include "driver/push_options.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "driver/option_parser.h"

namespace sonde {
namespace {

// --otlp-only. Empty, or what is wrong with it.
std::string set_signals(Options& o, const std::string& names) {
    bool wanted[otlp_signal_count] = {};
    std::istringstream all(names);
    size_t count = 0;
    for (std::string name; std::getline(all, name, ','); count++) {
        const auto* facts =
            std::ranges::find_if(otlp_signals, [&](const OtlpSignalFacts& one) { return name == one.name; });
        if (facts == std::end(otlp_signals))
            return fmt::format("--otlp-only {}: `{}` is nothing that is pushed; expected metrics, logs or traces, or "
                               "several of them with a comma between them",
                               names, name);
        wanted[facts - otlp_signals] = true;
    }
    if (count == 0)
        return "--otlp-only: expected metrics, logs or traces, or several of them with a comma between them";
    std::ranges::copy(wanted, o.otlp.has_signal);
    return "";
}

// What needs --otlp.
constexpr const char* otlp_options[] = {"--otlp-service",     "--otlp-interval",   "--otlp-only",
                                        "--otlp-temporality", "--otlp-histograms", "--otlp-header"};

void add_header_option(CLI::App& app, const char* name, HttpSettings& settings) {
    app.add_option_function<std::vector<std::string>>(
           name,
           [&settings, name](const std::vector<std::string>& texts) {
               for (const std::string& text : texts) {
                   Result<HttpHeader> header = parse_http_header(text, name);
                   require(header ? "" : header.error().message);
                   settings.headers.push_back(*std::move(header));
               }
           },
           "NAME=VALUE|NAME=@FILE|NAME=env:VARIABLE: send a header with each push, as a token")
        ->allow_extra_args(false);
}

void add_interval_option(CLI::App& app, const char* name, double& seconds, const char* help) {
    app.add_option_function<std::string>(
        name,
        [&seconds, name](const std::string& text) {
            char* end = nullptr;
            seconds = std::strtod(text.c_str(), &end);
            if (text.empty() || *end || !(seconds >= 0.1 && seconds <= 86400))
                require(fmt::format("{}: `{}` is no number of seconds from 0.1 to 86400", name, text));
        },
        help);
}

} // namespace

void add_push_options(CLI::App& app, Options& o) {
    app.add_option_function<std::string>(
        "--otlp",
        [&o](const std::string& text) {
            Result<HttpTarget> target = parse_http_target(text, otlp_option);
            require(target ? "" : target.error().message);
            o.otlp.target = *std::move(target);
        },
        "http://HOST[:PORT][/PATH]: push the script's globals, and what it prints, to an OpenTelemetry collector "
        "(OTLP)");
    app.add_option("--otlp-service", o.otlp.service, "NAME: service.name of what is pushed (the script's name)")
        ->check([](const std::string& text) { return text.empty() ? "it needs a value" : ""; });
    add_interval_option(app, "--otlp-interval", o.otlp.interval_s, "SECONDS from one push to the next (10)");
    app.add_option_function<std::string>(
        "--otlp-only", [&o](const std::string& names) { require(set_signals(o, names)); },
        "metrics,logs,traces: push only these (metrics,logs). traces: calls, of functions that are probed at their "
        "entry and return");
    app.add_option_function<std::string>(
           "--otlp-temporality", [&o](const std::string& word) { o.otlp.is_delta = word == "delta"; },
           "cumulative|delta: push counts since the session's beginning, or since the last push (cumulative)")
        ->check(CLI::IsMember({"cumulative", "delta"}));
    app.add_option_function<std::string>(
           "--otlp-histograms", [&o](const std::string& word) { o.otlp.has_exponential = word == "exponential"; },
           "explicit|exponential: how histograms by powers of two are pushed (explicit)")
        ->check(CLI::IsMember({"explicit", "exponential"}));
    add_header_option(app, "--otlp-header", o.otlp.settings);
    add_header_option(app, "--pprof-header", o.pprof_push);
    add_interval_option(app, "--pprof-interval", o.pprof_interval_s,
                        "SECONDS: push what is new to the URL of --pprof that often, and not only at the end");
    app.add_option("--tls-ca", o.tls_ca, "FILE: trust these authorities for https://, instead of the machine's")
        ->check([](const std::string& text) { return text.empty() ? "it needs a value" : ""; });
}

std::string check_pushes(const CLI::App& app, const Options& o) {
    if (!o.otlp.wanted() && std::ranges::any_of(otlp_options, [&](const char* one) { return app.count(one) > 0; }))
        return "--otlp-service and the other options of that name need --otlp=URL: they say what is pushed there, and "
               "how";
    if (!o.otlp.wanted() && !o.metrics.wanted() && app.count("--metrics-series") > 0)
        return "--metrics-series needs --metrics=ADDRESS:PORT or --otlp=URL: it says how many series they give at most";
    const auto is_pushed = [](const PictureRequest& request) { return request.is_pushed(); };
    const auto is_https = [](const PictureRequest& request) { return request.target.has_tls; };
    if (!o.pprof_push.headers.empty() && std::ranges::none_of(o.pictures, is_pushed))
        return "--pprof-header needs --pprof=URL: it says what is sent there";
    if (o.pprof_interval_s > 0 && std::ranges::none_of(o.pictures, is_pushed))
        return "--pprof-interval needs --pprof=URL: it says how often what is new is pushed there";
    if (!o.tls_ca.empty() && !o.otlp.target.has_tls && std::ranges::none_of(o.pictures, is_https))
        return "--tls-ca needs --otlp or --pprof with an https:// URL: it says whom to trust there";
    return "";
}

} // namespace sonde

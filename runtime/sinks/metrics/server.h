// --metrics: the session's metrics over HTTP, for Prometheus and whatever reads its formats.
//
// A thread of its own does all that readers have to do with: connections, names, labels, texts. It asks the session's
// thread for a picture (picture_exchange.h). So a reader that is slow, sends nonsense or goes away costs the session
// nothing, and a session that is busy costs a reader an answer that says so.
//
// HTTP is libevent's: one thread serves all connections, and its archive links into the static program, as do those for
// TLS. (cpp-httplib is a shared library in Debian and takes a thread for each connection; libmicrohttpd's archive wants
// GnuTLS.)
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "runtime/sinks/http/tls.h"
#include "runtime/sinks/metrics/answered_hosts.h"
#include "runtime/sinks/metrics/connection_limit.h"
#include "runtime/sinks/metrics/families.h"
#include "runtime/sinks/metrics/open_metrics.h"
#include "runtime/sinks/metrics/picture_exchange.h"
#include "runtime/sinks/metrics/request.h"

struct event_base;
struct evhttp;
struct evhttp_request;
struct evhttp_connection;
struct event;

namespace sonde {

class MetricsServer {
  public:
    // Listens at once; answers are given from the first serve() on. Errors: the address is taken, is none of this
    // machine's, or needs a right; the token cannot be read.
    static Result<std::unique_ptr<MetricsServer>> start(const plan::Plan& plan, const MetricsRequest& request);
    ~MetricsServer();
    MetricsServer(const MetricsServer&) = delete;
    MetricsServer& operator=(const MetricsServer&) = delete;

    // Every probe is armed: /healthz says so from here on.
    void note_armed() { is_armed_ = true; }
    int fd() const { return exchange_.wanted_fd(); } // readable when somebody waits for a picture
    // In the session's thread: takes the picture. `pusher`: of --otlp, or null.
    void serve(const SessionData& data, const OtlpPusher* pusher) { exchange_.serve(data, pusher); }
    // Where it listens: http://127.0.0.1:9435
    const std::string& url() const { return url_; }
    // Who can read what they should not, and what to do; empty: nobody.
    std::string exposure() const;

  private:
    MetricsServer(const plan::Plan& plan, const MetricsRequest& request);
    Result<void> listen();
    void run();
    static void on_request(evhttp_request* request, void* server);
    void answer_metrics(evhttp_request* request);
    bool may_read(evhttp_request* request) const;
    bool is_for_us(evhttp_request* request) const;
    void on_told();
    void on_time();
    void send(evhttp_request* request, int status, const char* reason, const char* type, const std::string& text);
    void forget(evhttp_connection* connection);

    bool is_loopback_ = true; // nobody else's machine reaches it
    const plan::Plan& plan_;
    const MetricsRequest request_;
    const MetricNames names_;
    PictureExchange exchange_;
    std::string url_, token_;
    // Without a token and TLS: a page of another name has neither the token nor a certificate for its name.
    std::optional<AnsweredHosts> hosts_;
    ConnectionLimit limit_;
    TlsContext tls_; // --metrics-tls; null: without
    event_base* base_ = nullptr;
    evhttp* http_ = nullptr;
    event* told_event_ = nullptr;
    event* time_event_ = nullptr;
    std::atomic<bool> ending_ = false, is_armed_ = false;

    // The thread's own.
    struct Waiting {
        evhttp_request* request;
        MetricsFormat format;
        int64_t since_ns;
    };
    std::vector<Waiting> waiting_;
    std::set<evhttp_connection*> sending_; // whose readers have not taken all of their metrics yet
    std::thread thread_;
};

} // namespace sonde

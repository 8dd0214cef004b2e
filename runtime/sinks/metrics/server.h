// --metrics: serves the session's metrics over HTTP, for Prometheus and compatible systems.
//
// A separate thread handles all clients: connections, encoding, sending. It requests pictures from the session's thread
// (picture_exchange.h). So a client that is slow, disconnects or sends garbage does not delay the session. If the
// session is busy, the client gets an answer with status 503.
//
// The server uses libevent for HTTP. It handles all connections in one thread, and its static archive, with TLS, links
// into the static program. (In Debian, cpp-httplib is a shared library and uses one thread for each connection, and the
// static archive of libmicrohttpd needs GnuTLS.)
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
struct bufferevent;
struct evhttp;
struct evhttp_request;
struct evhttp_connection;
struct event;

namespace sonde {

class MetricsServer {
  public:
    // Listens at once, and answers /metrics from the first serve() on. Fails if the address is in use, belongs to
    // another machine or needs privileges, or if the token cannot be read.
    static Result<std::unique_ptr<MetricsServer>> start(const plan::Plan& plan, const MetricsRequest& request);
    ~MetricsServer();
    MetricsServer(const MetricsServer&) = delete;
    MetricsServer& operator=(const MetricsServer&) = delete;

    // Every probe is armed, so /healthz reports success from now on.
    void note_armed() { is_armed_ = true; }
    int fd() const { return exchange_.wanted_fd(); } // readable when a picture is requested
    // Call it in the session's thread: takes a picture. `pusher`: of --otlp, or null.
    void serve(const SessionData& data, const OtlpPusher* pusher) { exchange_.serve(data, pusher); }
    // The base URL, for example http://127.0.0.1:9435
    const std::string& url() const { return url_; }
    // Returns a warning about unprotected metrics or tokens, with a remedy; "" if others cannot read anything.
    std::string exposure() const;

  private:
    MetricsServer(const plan::Plan& plan, const MetricsRequest& request);
    // Binds the socket and prepares libevent. Runs before the thread starts.
    Result<void> listen();
    // The rest runs in the server's thread. run() executes the event loop until the destructor ends it.
    void run();
    // Returns the connection's encryption. Null without --metrics-tls: libevent then makes a plain connection.
    bufferevent* new_connection(event_base* base);
    // Checks a request and answers it, or puts it into waiting_ (answer_metrics).
    static void on_request(evhttp_request* request, void* server);
    void answer_metrics(evhttp_request* request);
    // True if the request has the right token, or none is required.
    bool may_read(evhttp_request* request) const;
    // True if the request's host names are those of this server.
    bool is_for_us(evhttp_request* request) const;
    // on_told() answers waiting requests when a picture is ready. on_time() rejects requests that have waited too long.
    void on_told();
    void on_time();
    void send(evhttp_request* request, int status, const char* reason, const char* type, const std::string& text);
    // Removes a connection that libevent is closing from all lists.
    void forget(evhttp_connection* connection);

    bool is_loopback_ = true; // only this machine can connect
    const plan::Plan& plan_;
    const MetricsRequest request_;
    const MetricNames names_;
    PictureExchange exchange_;
    std::string url_, token_;
    // Checks host names against DNS rebinding. Not needed with a token or TLS: a malicious page has neither the token
    // nor a certificate for its name.
    std::optional<AnsweredHosts> hosts_;
    ConnectionLimit limit_;
    TlsContext tls_; // null without --metrics-tls
    event_base* base_ = nullptr;
    evhttp* http_ = nullptr;
    event* told_event_ = nullptr;
    event* time_event_ = nullptr;
    std::atomic<bool> ending_ = false, is_armed_ = false;

    // Only the server's thread uses these:
    struct Waiting {
        evhttp_request* request;
        MetricsFormat format;
        int64_t since_ns;
    };
    std::vector<Waiting> waiting_;
    std::set<evhttp_connection*> sending_; // connections that are still receiving an answer
    std::thread thread_;
};

} // namespace sonde

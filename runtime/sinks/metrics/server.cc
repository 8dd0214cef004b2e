// The life of a request for /metrics. All steps but the third run in the server's thread:
//
// 1. libevent accepts the connection. ConnectionLimit closes it at once if there are too many.
// 2. on_request() checks the host, the path and the token. answer_metrics() puts the request into waiting_ and asks for
//   a picture.
// 3. The session's thread takes the picture between two turns of its loop (serve).
// 4. on_told() converts the picture to text, once for each format, and answers all waiting requests.
// 5. The connection stays in sending_ until the client has received everything.
//
// A client may disconnect at any step. Then libevent frees the request, and forget() must remove it from both lists. A
// long handler can keep the session busy, so on_time() answers requests that have waited for more than 5 seconds.
#include "runtime/sinks/metrics/server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/quiet_thread.h"
#include "runtime/kernel/privileges.h"

namespace sonde {
namespace {

constexpr int connection_seconds = 10;         // timeout for silence of a client
constexpr int64_t patience_ns = 5'000'000'000; // for the session's thread
constexpr size_t most_sending = 16;            // answers that clients have not received completely
constexpr size_t most_waiting = 256;
constexpr ssize_t most_header_bytes = 16 << 10, most_body_bytes = 1 << 10;
constexpr int backlog = 128;
constexpr const char* plain = "text/plain; charset=utf-8";
constexpr const char* index_page =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><title>sonde</title></head><body><h1>sonde</h1>\n<p>The metrics of a "
    "session are at <a href=\"/metrics\">/metrics</a>. <a href=\"/healthz\">/healthz</a> reports whether its probes "
    "are armed.</p></body></html>\n";

// Compares in constant time, so that an attacker cannot guess the token byte by byte.
bool is_same_secret(const std::string& a, const std::string& b) {
    unsigned different = a.size() == b.size() ? 0 : 1;
    for (size_t i = 0; i < a.size(); i++)
        different |=
            static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i % std::max<size_t>(1, b.size())]);
    return different == 0 && !b.empty();
}

std::string why_not_listen(int error, const MetricsRequest& request) {
    switch (error) {
    case EADDRINUSE:
        return fmt::format("port {} is in use; use another port, or 0 for any free port", request.port);
    case EADDRNOTAVAIL:
        return fmt::format("`{}` is not an address of this machine; use 0.0.0.0 for all its addresses", request.host);
    case EACCES:
        return fmt::format(
            "ports below 1024 need CAP_NET_BIND_SERVICE; use a port from 1024 on, as in --metrics={}:9435",
            request.host);
    default:
        return strerror(error);
    }
}

bool is_loopback(const sockaddr* address) {
    if (address->sa_family == AF_INET)
        return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24 == 127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

std::string url_of(int fd, const char* scheme) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
        getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return "";
    return address.ss_family == AF_INET6 ? fmt::format("{}://[{}]:{}", scheme, host, port)
                                         : fmt::format("{}://{}:{}", scheme, host, port);
}

} // namespace

MetricsServer::MetricsServer(const plan::Plan& plan, const MetricsRequest& request)
    : plan_(plan), request_(request), names_(name_metrics(plan)) {}

bufferevent* MetricsServer::new_connection(event_base* base) {
    limit_.accepted();
    SSL* ssl = tls_ ? SSL_new(tls_.get()) : nullptr;
    return ssl ? bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE)
               : nullptr;
}

// Binds the socket and prepares libevent. The thread does not run yet, so no locks are necessary.
Result<void> MetricsServer::listen() {
    addrinfo hints{};
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int error = getaddrinfo(request_.host.c_str(), request_.port.c_str(), &hints, &found); error != 0)
        return Error(fmt::format("`{}` is not an address: {}", request_.host, gai_strerror(error)));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
    // Only the first address is used, also if a name has several.
    const Fd socket_fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    if (socket_fd)
        setsockopt(socket_fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!socket_fd || bind(socket_fd.get(), found->ai_addr, found->ai_addrlen) != 0 ||
        ::listen(socket_fd.get(), backlog) != 0)
        return Error(why_not_listen(errno, request_), errno);
    url_ = url_of(socket_fd.get(), tls_ ? "https" : "http");
    is_loopback_ = is_loopback(found->ai_addr);
    if (token_.empty() && !tls_)
        hosts_.emplace(request_.host, is_loopback_);
    event_set_log_callback([](int, const char*) {}); // errors of clients do not concern the user of the session
    base_ = event_base_new();
    http_ = base_ ? evhttp_new(base_) : nullptr;
    const int owned = fcntl(socket_fd.get(), F_DUPFD_CLOEXEC, 3);
    evhttp_bound_socket* door = http_ && owned >= 0 ? evhttp_accept_socket_with_handle(http_, owned) : nullptr;
    if (!door || !limit_.begin(base_, evhttp_bound_socket_get_listener(door)))
        return Error("no memory for a server");
    evhttp_set_bevcb(
        http_, [](event_base* base, void* server) { return static_cast<MetricsServer*>(server)->new_connection(base); },
        this);
    evhttp_set_timeout(http_, connection_seconds);
    evhttp_set_max_headers_size(http_, most_header_bytes);
    evhttp_set_max_body_size(http_, most_body_bytes);
    evhttp_set_allowed_methods(http_, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    evhttp_set_gencb(http_, on_request, this);
    told_event_ = event_new(
        base_, exchange_.told_fd(), EV_READ | EV_PERSIST,
        [](evutil_socket_t, short, void* server) { static_cast<MetricsServer*>(server)->on_told(); }, this);
    time_event_ = event_new(
        base_, -1, EV_PERSIST,
        [](evutil_socket_t, short, void* server) { static_cast<MetricsServer*>(server)->on_time(); }, this);
    const timeval second{1, 0};
    if (!told_event_ || !time_event_ || event_add(told_event_, nullptr) != 0 || event_add(time_event_, &second) != 0)
        return Error("no memory for a server");
    return {};
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const plan::Plan& plan, const MetricsRequest& request) {
    std::unique_ptr<MetricsServer> out(new MetricsServer(plan, request));
    const std::string where = fmt::format("--metrics: cannot serve at {}:{}", request.host, request.port);
    if (!out->exchange_.valid())
        return errno_error(where, errno);
    if (!request.token_file.empty()) {
        Result<std::string> token = read_file(request.token_file);
        if (!token)
            return std::move(token).error().in("--metrics-token-file");
        out->token_ = *std::move(token);
        while (!out->token_.empty() && std::isspace(static_cast<unsigned char>(out->token_.back())) != 0)
            out->token_.pop_back();
        if (out->token_.empty())
            return Error(fmt::format("--metrics-token-file: {} is empty; write the readers' token to the file",
                                     request.token_file));
    }
    if (!request.certificate_file.empty()) {
        Result<TlsContext> tls = tls_of_server(request.certificate_file, request.key_file);
        if (!tls)
            return std::move(tls).error().in("--metrics-tls");
        out->tls_ = *std::move(tls);
    }
    if (Result<void> listening = out->listen(); !listening)
        return std::move(listening).error().in(where);
    Result<std::thread> thread = start_quiet_thread("answers readers", [server = out.get()] { server->run(); });
    if (!thread)
        return std::move(thread).error().in(where);
    out->thread_ = *std::move(thread);
    return out;
}

std::string MetricsServer::exposure() const {
    if (is_loopback_ || tls_)
        return "";
    if (token_.empty())
        return fmt::format("--metrics: other machines can read {}/metrics; require a token with "
                           "--metrics-token-file=FILE, and encrypt with --metrics-tls=CERTIFICATE,KEY",
                           url_);
    return fmt::format(
        "--metrics: the token goes over the network to {} unencrypted; encrypt with --metrics-tls=CERTIFICATE,KEY",
        url_);
}

MetricsServer::~MetricsServer() {
    ending_ = true;
    if (thread_.joinable()) {
        exchange_.tell();
        thread_.join();
    }
    if (told_event_)
        event_free(told_event_);
    if (time_event_)
        event_free(time_event_);
    limit_.end();
    if (http_)
        evhttp_free(http_);
    if (base_)
        event_base_free(base_);
}

void MetricsServer::run() {
    keep_capabilities({});
    event_base_dispatch(base_);
}

// ---- the server's thread --------------------------------------------------------------------------------------------

void MetricsServer::send(evhttp_request* request, int status, const char* reason, const char* type,
                         const std::string& text) {
    evkeyvalq* headers = evhttp_request_get_output_headers(request);
    evhttp_add_header(headers, "Content-Type", type);
    evhttp_add_header(headers, "Cache-Control", "no-store");
    evbuffer* body = evbuffer_new();
    if (body)
        evbuffer_add(body, text.data(), text.size());
    evhttp_send_reply(request, status, reason, body);
    if (body)
        evbuffer_free(body);
}

bool MetricsServer::may_read(evhttp_request* request) const {
    if (token_.empty())
        return true;
    const char* given = evhttp_find_header(evhttp_request_get_input_headers(request), "Authorization");
    constexpr std::string_view scheme = "Bearer ";
    return given && strncasecmp(given, scheme.data(), scheme.size()) == 0 &&
           is_same_secret(given + scheme.size(), token_);
}

// A client that uses HTTP 1.0 may omit the host. Browsers always send one.
bool MetricsServer::is_for_us(evhttp_request* request) const {
    if (!hosts_)
        return true;
    const evhttp_uri* uri = evhttp_request_get_evhttp_uri(request);
    const char* in_uri = uri ? evhttp_uri_get_host(uri) : nullptr;
    const char* header = evhttp_find_header(evhttp_request_get_input_headers(request), "Host");
    return (!in_uri || hosts_->answers(in_uri)) && (!header || hosts_->answers(header));
}

void MetricsServer::on_request(evhttp_request* request, void* opaque) {
    MetricsServer& server = *static_cast<MetricsServer*>(opaque);
    if (!server.is_for_us(request))
        return server.send(request, 421, "Misdirected Request", plain,
                           "this server does not answer for that host name; use the machine's address or its host "
                           "name, or start sonde with --metrics=NAME:PORT\n");
    const evhttp_uri* uri = evhttp_request_get_evhttp_uri(request);
    const char* given = uri ? evhttp_uri_get_path(uri) : nullptr;
    const std::string path = given ? given : "";
    if (path == "/healthz")
        return server.is_armed_ ? server.send(request, HTTP_OK, "OK", plain, "ok\n")
                                : server.send(request, HTTP_SERVUNAVAIL, "Service Unavailable", plain,
                                              "the probes are being armed\n");
    if (path == "/" || path.empty())
        return server.send(request, HTTP_OK, "OK", "text/html; charset=utf-8", index_page);
    if (path != "/metrics")
        return server.send(request, HTTP_NOTFOUND, "Not Found", plain, "the metrics are at /metrics\n");
    if (!server.may_read(request)) {
        evhttp_add_header(evhttp_request_get_output_headers(request), "WWW-Authenticate", "Bearer");
        return server.send(request, 401, "Unauthorized", plain,
                           "the metrics need a token: Authorization: Bearer TOKEN\n");
    }
    server.answer_metrics(request);
}

void MetricsServer::answer_metrics(evhttp_request* request) {
    if (sending_.size() >= most_sending || waiting_.size() >= most_waiting)
        return send(request, HTTP_SERVUNAVAIL, "Service Unavailable", plain,
                    "too many readers wait for their answers\n");
    const char* accept = evhttp_find_header(evhttp_request_get_input_headers(request), "Accept");
    waiting_.push_back({request, accepted_format(accept ? accept : ""), now_ns()});
    // The connection owns the request. If the client disconnects, forget the request.
    evhttp_connection_set_closecb(
        evhttp_request_get_connection(request),
        [](evhttp_connection* connection, void* server) { static_cast<MetricsServer*>(server)->forget(connection); },
        this);
    exchange_.ask();
}

void MetricsServer::forget(evhttp_connection* connection) {
    sending_.erase(connection);
    std::erase_if(waiting_,
                  [&](const Waiting& one) { return evhttp_request_get_connection(one.request) == connection; });
}

void MetricsServer::on_told() {
    const std::optional<MetricsPicture> picture = exchange_.take();
    if (ending_) {
        event_base_loopbreak(base_);
        return;
    }
    if (!picture)
        return;
    const std::vector<MetricFamily> families = make_families(plan_, names_, *picture, request_.series);
    std::string texts[2];
    for (const Waiting& one : std::exchange(waiting_, {})) {
        std::string& text = texts[one.format == MetricsFormat::Prometheus];
        if (text.empty())
            text = metrics_text(families, one.format);
        evhttp_connection* connection = evhttp_request_get_connection(one.request);
        if (connection) // null: the client has disconnected, and send() frees the request
            sending_.insert(connection);
        evhttp_request_set_on_complete_cb(
            one.request,
            [](evhttp_request* done, void* server) {
                static_cast<MetricsServer*>(server)->sending_.erase(evhttp_request_get_connection(done));
            },
            this);
        send(one.request, HTTP_OK, "OK", content_type(one.format), text);
    }
}

// A handler of the session may run for a long time. Answer requests that have waited too long.
void MetricsServer::on_time() {
    const int64_t now = now_ns();
    std::vector<Waiting> late;
    for (const Waiting& one : waiting_)
        if (now - one.since_ns > patience_ns)
            late.push_back(one);
    std::erase_if(waiting_, [&](const Waiting& one) { return now - one.since_ns > patience_ns; });
    for (const Waiting& one : late)
        send(one.request, HTTP_SERVUNAVAIL, "Service Unavailable", plain,
             "the session is busy: it did not answer for 5 seconds\n");
}

} // namespace sonde

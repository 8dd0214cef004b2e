// The steps of a request:
//
// * post() frees the previous connection, creates a new one, and starts the request.
// * libevent resolves the name, connects, and calls on_answer(), also if no answer has arrived.
// * on_answer() stores the answer and activates done_event_. It must not free the connection, which libevent still
//   uses.
// * In the next turn of the loop, done_event_ calls the caller's function, which may call post() again.
//
// Freeing a connection can also cause a callback. `is_answered_` is set before, so that it is ignored.
#include "runtime/sinks/http/poster.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/http.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace sonde {
namespace {

constexpr int answer_seconds = 10; // timeout for silence of the server
constexpr ssize_t most_answer_bytes = 64 << 10;
constexpr int64_t longest_asked_s = 300; // limit for Retry-After

} // namespace

// libevent reports errors to a log by default. They would appear between the script's output, so the log is disabled.
Result<std::unique_ptr<HttpPoster>> HttpPoster::open(event_base* base, const HttpTarget& target,
                                                     const HttpSettings& settings) {
    event_set_log_callback([](int, const char*) {}); // problems are reported with the answer
    evdns_set_log_fn([](int, const char*) {});
    std::unique_ptr<HttpPoster> out(new HttpPoster(base, target, settings));
    out->names_base_ = evdns_base_new(base, 0);
    out->done_event_ = event_new(
        base, -1, 0,
        [](evutil_socket_t, short, void* opaque) {
            HttpPoster& poster = *static_cast<HttpPoster*>(opaque);
            std::exchange(poster.on_answer_, nullptr)(poster.answer_);
        },
        out.get());
    if (!out->names_base_ || !out->done_event_)
        return Error("no memory or no descriptors for a connection");
    // Without these files, only numeric addresses work.
    evdns_base_load_hosts(out->names_base_, "/etc/hosts");
    evdns_base_resolv_conf_parse(out->names_base_, DNS_OPTIONS_ALL, "/etc/resolv.conf");
    if (target.has_tls) {
        Result<TlsContext> tls = tls_of_client(settings.ca_file);
        if (!tls)
            return std::move(tls).error();
        out->tls_ = *std::move(tls);
    }
    return out;
}

HttpPoster::~HttpPoster() {
    is_answered_ = true; // ignore callbacks that the end of the connection causes
    if (connection_)
        evhttp_connection_free(connection_);
    if (done_event_)
        event_free(done_event_);
    if (names_base_)
        evdns_base_free(names_base_, 0);
}

// Returns null if memory runs out.
evhttp_connection* HttpPoster::connect() {
    bufferevent* over_tls = nullptr;
    if (tls_) {
        SSL* ssl = begin_tls(tls_, target_.host, &untrusted_);
        if (!ssl)
            return nullptr;
        over_tls = bufferevent_openssl_socket_new(base_, -1, ssl, BUFFEREVENT_SSL_CONNECTING, BEV_OPT_CLOSE_ON_FREE);
        if (!over_tls)
            return nullptr;
        bufferevent_openssl_set_allow_dirty_shutdown(over_tls, 1);
    }
    return evhttp_connection_base_bufferevent_new(base_, names_base_, over_tls, target_.host.c_str(), target_.port);
}

// Replaces the previous connection, whose callbacks must not count as an answer to the new request (is_answered_).
// Headers of the user replace those of sonde.
void HttpPoster::post(const std::string& path, const char* type, const std::string& body,
                      std::function<void(const HttpAnswer&)> on_answer) {
    is_answered_ = true;
    if (connection_)
        evhttp_connection_free(connection_);
    is_answered_ = false;
    answer_ = {};
    untrusted_.clear();
    on_answer_ = std::move(on_answer);
    path_ = target_.path + path;
    if (path_.empty())
        path_ = "/";
    connection_ = connect();
    evhttp_request* request =
        connection_
            ? evhttp_request_new(
                  [](evhttp_request* done, void* poster) { static_cast<HttpPoster*>(poster)->on_answer(done); }, this)
            : nullptr;
    if (!request)
        return this->on_answer(nullptr);
    evhttp_connection_set_timeout(connection_, answer_seconds);
    evhttp_connection_set_max_headers_size(connection_, most_answer_bytes);
    evhttp_connection_set_max_body_size(connection_, most_answer_bytes);
    evkeyvalq* headers = evhttp_request_get_output_headers(request);
    evhttp_add_header(headers, "Host", target_.host_and_port().c_str());
    evhttp_add_header(headers, "Content-Type", type);
    evhttp_add_header(headers, "User-Agent", "sonde");
    evhttp_add_header(headers, "Connection", "close");
    for (const HttpHeader& header : settings_.headers) {
        evhttp_remove_header(headers, header.name.c_str());
        evhttp_add_header(headers, header.name.c_str(), header.value.c_str());
    }
    evbuffer_add(evhttp_request_get_output_buffer(request), body.data(), body.size());
    // The connection owns the request from here on, even if the call fails.
    if (evhttp_make_request(connection_, request, EVHTTP_REQ_POST, (path_ + target_.query).c_str()) != 0)
        this->on_answer(nullptr);
}

// `request` is null, or has status 0, if no answer arrived. libevent does not allow a callback to free its own
// connection. So the answer is delivered in the next turn of the loop.
void HttpPoster::on_answer(evhttp_request* request) {
    const int error = errno;
    if (is_answered_)
        return;
    is_answered_ = true;
    answer_.status = request ? evhttp_request_get_response_code(request) : 0;
    if (answer_.status == 0) {
        answer_.problem = why_no_answer(error);
    } else {
        if (answer_.status < 200 || answer_.status >= 300)
            answer_.problem = fmt::format("status {} of {}", answer_.status, path_);
        const char* asked = evhttp_find_header(evhttp_request_get_input_headers(request), "Retry-After");
        answer_.retry_after_s = asked ? std::clamp<int64_t>(std::atoll(asked), 0, longest_asked_s) : 0;
        evbuffer* body = evhttp_request_get_input_buffer(request);
        answer_.body.resize(evbuffer_get_length(body));
        evbuffer_copyout(body, answer_.body.data(), answer_.body.size());
    }
    const timeval now{0, 0};
    event_add(done_event_, &now);
}

// Returns the reason for a missing answer, using the error codes that libevent has kept.
std::string HttpPoster::why_no_answer(int error) {
    if (!connection_)
        return "no memory for a connection";
    bufferevent* connection = evhttp_connection_get_bufferevent(connection_);
    if (!untrusted_.empty())
        return untrusted_;
    if (bufferevent_socket_get_dns_error(connection) != 0)
        return "its name is unknown";
    if (tls_)
        if (const unsigned long code = bufferevent_get_openssl_error(connection))
            return fmt::format("TLS fails ({})", tls_error(code));
    // If connect() fails, libevent shuts down the unconnected socket, which replaces errno by ENOTCONN.
    return error == ENOTCONN ? "it refuses connections" : "no answer";
}

} // namespace sonde

// Posts bodies to one server by HTTP, in an event loop of libevent that belongs to the caller. Used for --otlp, and for
// --pprof with a URL.
//
// Each request uses a new connection. A server may close an idle connection at any time, and the last push of a session
// has no time for a second attempt. Also, libevent resolves host names, since getaddrinfo() blocks and cannot be
// canceled.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/sinks/http/target.h"
#include "runtime/sinks/http/tls.h"

struct event;
struct event_base;
struct evdns_base;
struct evhttp_connection;
struct evhttp_request;

namespace sonde {

// The settings of a request besides its target.
struct HttpSettings {
    std::vector<HttpHeader> headers;
    std::string ca_file; // for https: file with trusted authorities (PEM); empty: the system's
};

struct HttpAnswer {
    int status = 0;            // HTTP status; 0: no answer
    int64_t retry_after_s = 0; // from Retry-After, limited to 5 minutes; 0: missing, or given as a date
    std::string body;          // the first bytes of the body
    std::string problem;       // why the request failed; empty: the status is 200 to 299
};
// True if the same request may succeed later (RFC 9110; "OTLP Specification", section "Failures").
inline bool is_passing(const HttpAnswer& answer) {
    return answer.status == 0 || answer.status == 429 || (answer.status >= 502 && answer.status <= 504);
}

class HttpPoster {
  public:
    // `base` must outlive the result. Fails if memory or file descriptors run out, or if the authorities cannot be
    // read. A server that is not available is not an error here.
    static Result<std::unique_ptr<HttpPoster>> open(event_base* base, const HttpTarget& target,
                                                    const HttpSettings& settings);
    ~HttpPoster();
    HttpPoster(const HttpPoster&) = delete;
    HttpPoster& operator=(const HttpPoster&) = delete;

    // Starts a request; only one at a time. `path` is appended to the target's path. The event loop calls `on_answer`,
    // which may start the next request.
    void post(const std::string& path, const char* type, const std::string& body,
              std::function<void(const HttpAnswer&)> on_answer);

  private:
    HttpPoster(event_base* base, const HttpTarget& target, const HttpSettings& settings)
        : base_(base), target_(target), settings_(settings) {}
    // Creates a new connection, with TLS if the target requires it.
    evhttp_connection* connect();
    // libevent's callback for the end of a request.
    void on_answer(evhttp_request* request);
    // Returns a message for a request without an answer.
    std::string why_no_answer(int error);

    event_base* base_;
    const HttpTarget target_;
    const HttpSettings settings_;
    TlsContext tls_;
    evdns_base* names_base_ = nullptr;
    event* done_event_ = nullptr; // fires when the answer is complete
    evhttp_connection* connection_ = nullptr;
    std::string path_, untrusted_; // path of the request; why the server's certificate is not trusted
    HttpAnswer answer_;
    bool is_answered_ = false;
    std::function<void(const HttpAnswer&)> on_answer_;
};

} // namespace sonde

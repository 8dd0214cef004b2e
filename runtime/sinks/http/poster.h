// Posts bodies to one place by HTTP, in a loop of libevent's that is the caller's: for --otlp, and --pprof with a URL.
//
// A connection is there for one request: a server may close one that is kept at any time, and the last push of a
// session has no time for a second try. Names are looked up by libevent too, since getaddrinfo() cannot be told to end.
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

// How, beside where.
struct HttpSettings {
    std::vector<HttpHeader> headers;
    std::string ca_file; // https: the authorities; empty: the machine's
};

struct HttpAnswer {
    int status = 0;            // 0: there was none
    int64_t retry_after_s = 0; // that the server asked for, 5 minutes at most; 0: it did not, or by a date
    std::string body;          // its first bytes
    std::string problem;       // why it is none of 200 to 299; empty: it is
};
// Whether the same request may go well later (RFC 9110; opentelemetry.io, "OTLP Specification", "Failures").
inline bool is_passing(const HttpAnswer& answer) {
    return answer.status == 0 || answer.status == 429 || (answer.status >= 502 && answer.status <= 504);
}

class HttpPoster {
  public:
    // Errors: no memory, no descriptors; the authorities cannot be read. That the server is away is none.
    static Result<std::unique_ptr<HttpPoster>> open(event_base* base, const HttpTarget& target,
                                                    const HttpSettings& settings);
    ~HttpPoster();
    HttpPoster(const HttpPoster&) = delete;
    HttpPoster& operator=(const HttpPoster&) = delete;

    // One at a time. `path` is added to the target's. `on_answer` is called from the loop, and may post again.
    void post(const std::string& path, const char* type, const std::string& body,
              std::function<void(const HttpAnswer&)> on_answer);

  private:
    HttpPoster(event_base* base, const HttpTarget& target, const HttpSettings& settings)
        : base_(base), target_(target), settings_(settings) {}
    evhttp_connection* connect();
    void on_answer(evhttp_request* request);
    std::string why_no_answer(int error);

    event_base* base_;
    const HttpTarget target_;
    const HttpSettings settings_;
    TlsContext tls_;
    evdns_base* names_base_ = nullptr;
    event* done_event_ = nullptr; // the answer is there
    evhttp_connection* connection_ = nullptr;
    std::string path_, untrusted_; // of the request; why the server's certificate is not trusted
    HttpAnswer answer_;
    bool is_answered_ = false;
    std::function<void(const HttpAnswer&)> on_answer_;
};

} // namespace sonde

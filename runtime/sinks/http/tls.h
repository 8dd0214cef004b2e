// TLS for the --metrics server and for pushes: OpenSSL contexts, and error messages.
//
// libevent supports OpenSSL (libevent_openssl), so the same HTTP code works with and without TLS. OpenSSL's static
// archives need no other libraries. They add 4 MB to the static program and 1.6 ms to its start. (libcurl's static
// archive needs a dozen more: GSSAPI, LDAP, SSH, HTTP/2.)
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace sonde {

struct TlsFree {
    void operator()(ssl_ctx_st* context) const;
};
using TlsContext = std::unique_ptr<ssl_ctx_st, TlsFree>;

// Returns a client context that trusts the authorities in `ca_file` (PEM); empty: those of the system. Fails if the
// file cannot be read or has no certificate.
Result<TlsContext> tls_of_client(const std::string& ca_file);
// Returns a server context. Fails if a file cannot be read, has no certificate or key, or if the key does not match.
// Also fails if the certificate has expired or is not valid yet.
Result<TlsContext> tls_of_server(const std::string& certificate_file, const std::string& key_file);

// Returns a client connection that accepts only a certificate for `host`. If the certificate is not trusted, the reason
// is written to `why_not`, which must outlive the connection. Returns null if memory runs out.
ssl_st* begin_tls(const TlsContext& context, const std::string& host, std::string* why_not);

// Returns the message for an OpenSSL error code.
std::string tls_error(unsigned long code);

} // namespace sonde

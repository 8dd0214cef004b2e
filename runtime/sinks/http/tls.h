// TLS for the server of --metrics and for what pushes: contexts of OpenSSL, and its errors as sentences.
//
// libevent has its connections over OpenSSL (libevent_openssl), so there is one HTTP for all. OpenSSL's archives are
// part of a static program as they are: 4 MB of it, and 1.6 ms of a start. (libcurl's archive wants a dozen others:
// GSSAPI, LDAP, SSH, HTTP/2.)
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

// Trusts the authorities in `ca_file`; empty: those that the machine trusts. Errors: it cannot be read; has none.
Result<TlsContext> tls_of_client(const std::string& ca_file);
// Errors: files that cannot be read, have no certificate or key, or do not belong to each other; a certificate that has
// expired, or is not valid yet.
Result<TlsContext> tls_of_server(const std::string& certificate_file, const std::string& key_file);

// A client's connection: to whom, which its certificate must say too. `why_not` is written where the certificate is not
// trusted; it outlives the connection. Null: no memory.
ssl_st* begin_tls(const TlsContext& context, const std::string& host, std::string* why_not);

// An error of OpenSSL in words.
std::string tls_error(unsigned long code);

} // namespace sonde

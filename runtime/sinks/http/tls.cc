#include "runtime/sinks/http/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>

namespace sonde {
namespace {

// Trusted authorities of common distributions, for a static program that runs on a distribution other than the one
// where it was built.
constexpr const char* usual_bundles[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                         "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

// The slot in an SSL object for the pointer to `why_not`.
int note_place() {
    static const int place = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return place;
}

std::string last_error() { return tls_error(ERR_get_error()); }

// Formats a date of a certificate.
std::string date_of(const ASN1_TIME* time) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
    char* text = nullptr;
    if (!out || ASN1_TIME_print(out.get(), time) != 1)
        return "?";
    const long size = BIO_get_mem_data(out.get(), &text);
    return {text, static_cast<size_t>(size)};
}

// Returns a message with the reason, and a remedy if one exists.
std::string why_untrusted(int error, const X509* certificate) {
    switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return fmt::format("its certificate expired on {}",
                           certificate ? date_of(X509_get0_notAfter(certificate)) : "?");
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return fmt::format("its certificate is not valid before {}",
                           certificate ? date_of(X509_get0_notBefore(certificate)) : "?");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return "its certificate belongs to another host";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return "its certificate is from an authority that this machine does not know; add the authority with "
               "--tls-ca=FILE";
    default:
        return fmt::format("its certificate is not trusted: {}", X509_verify_cert_error_string(error));
    }
}

// OpenSSL calls this for each certificate of the chain. Records the reason of a failure and ends the handshake.
int on_verified(int is_good, X509_STORE_CTX* store) {
    if (is_good)
        return is_good;
    const auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    if (auto* why_not = ssl ? static_cast<std::string*>(SSL_get_ex_data(ssl, note_place())) : nullptr)
        *why_not = why_untrusted(X509_STORE_CTX_get_error(store), X509_STORE_CTX_get_current_cert(store));
    return 0;
}

} // namespace

void TlsFree::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

std::string tls_error(unsigned long code) {
    const char* reason = code ? ERR_reason_error_string(code) : nullptr;
    return reason ? reason : "no reason given";
}

// The authorities come from `ca_file`, from OpenSSL's folder or its environment variables, or from the usual bundles,
// in this order.
Result<TlsContext> tls_of_client(const std::string& ca_file) {
    TlsContext out(SSL_CTX_new(TLS_client_method()));
    if (!out)
        return Error("no memory for TLS");
    SSL_CTX_set_min_proto_version(out.get(), TLS1_2_VERSION);
    SSL_CTX_set_verify(out.get(), SSL_VERIFY_PEER, on_verified);
    // Many servers close the TCP connection without a TLS close alert. Truncation is detected by the length of the
    // answer instead.
    SSL_CTX_set_options(out.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
    if (!ca_file.empty()) {
        if (access(ca_file.c_str(), R_OK) != 0)
            return errno_error(fmt::format("cannot read {}", ca_file), errno);
        if (SSL_CTX_load_verify_file(out.get(), ca_file.c_str()) != 1)
            return Error(fmt::format("{} has no certificate of an authority (PEM): {}", ca_file, last_error()));
        return out;
    }
    const bool has_folder = access(X509_get_default_cert_dir(), X_OK) == 0;
    if (has_folder || std::getenv(X509_get_default_cert_file_env()) || std::getenv(X509_get_default_cert_dir_env()))
        SSL_CTX_set_default_verify_paths(out.get());
    else
        for (const char* bundle : usual_bundles)
            if (access(bundle, R_OK) == 0 && SSL_CTX_load_verify_file(out.get(), bundle) == 1)
                break;
    ERR_clear_error();
    return out;
}

// All problems are reported at the start. Otherwise they would appear as failing connections of clients.
Result<TlsContext> tls_of_server(const std::string& certificate_file, const std::string& key_file) {
    TlsContext out(SSL_CTX_new(TLS_server_method()));
    if (!out)
        return Error("no memory for TLS");
    SSL_CTX_set_min_proto_version(out.get(), TLS1_2_VERSION);
    // An encrypted key would make OpenSSL ask for a password on the terminal, and block a service.
    SSL_CTX_set_default_passwd_cb(out.get(), [](char*, int, int, void*) { return 0; });
    for (const std::string& file : {certificate_file, key_file})
        if (access(file.c_str(), R_OK) != 0)
            return errno_error(fmt::format("cannot read {}", file), errno);
    if (SSL_CTX_use_certificate_chain_file(out.get(), certificate_file.c_str()) != 1)
        return Error(fmt::format("{} has no certificate (PEM): {}", certificate_file, last_error()));
    if (SSL_CTX_use_PrivateKey_file(out.get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
        const unsigned long code = ERR_peek_last_error();
        if (ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH && ERR_GET_LIB(code) == ERR_LIB_X509)
            return Error(fmt::format("the key in {} does not match the certificate in {}", key_file, certificate_file));
        return Error(fmt::format("{} has no private key without a password (PEM): {}", key_file, last_error()));
    }
    if (SSL_CTX_check_private_key(out.get()) != 1)
        return Error(fmt::format("the key in {} does not match the certificate in {}", key_file, certificate_file));
    const X509* certificate = SSL_CTX_get0_certificate(out.get());
    if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
        return Error(fmt::format("the certificate in {} expired on {}, so readers would reject it", certificate_file,
                                 date_of(X509_get0_notAfter(certificate))));
    if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0)
        return Error(fmt::format("the certificate in {} is not valid before {}", certificate_file,
                                 date_of(X509_get0_notBefore(certificate))));
    return out;
}

// Sets the name or address that the certificate must contain. A name is also sent to the server (SNI).
ssl_st* begin_tls(const TlsContext& context, const std::string& host, std::string* why_not) {
    std::unique_ptr<SSL, decltype(&SSL_free)> out(SSL_new(context.get()), SSL_free);
    if (!out || SSL_set_ex_data(out.get(), note_place(), why_not) != 1)
        return nullptr;
    in6_addr address{};
    const bool is_address =
        inet_pton(AF_INET, host.c_str(), &address) == 1 || inet_pton(AF_INET6, host.c_str(), &address) == 1;
    const bool is_set = is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(out.get()), host.c_str()) == 1
                                   : SSL_set1_host(out.get(), host.c_str()) == 1 &&
                                         SSL_set_tlsext_host_name(out.get(), host.c_str()) == 1;
    return is_set ? out.release() : nullptr;
}

} // namespace sonde

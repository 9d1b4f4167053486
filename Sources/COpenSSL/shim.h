#pragma once
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* The library that libcurl makes its TLS connections with, and that seals what is kept. Here is what Swift cannot
   call: macros, and the stacks of OpenSSL, whose functions are made by macros. <https://docs.openssl.org/3.0/man3/> */

/* A place for an object of ours in every SSL_CTX; `release` is called with it, or with null, when one is freed. */
static inline int copenssl_new_context_index(CRYPTO_EX_free *release) {
    return SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, release);
}

/* Whether an info callback tells of an alert that was received, and which alert (RFC 8446 section 6). */
static inline int copenssl_is_received_alert(int where) {
    return (where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT;
}
static inline int copenssl_alert(int value) {
    return value & 0xff;
}

/* Stacks; null is an empty one. */
static inline int copenssl_certificate_count(const STACK_OF(X509) *stack) {
    return stack ? sk_X509_num(stack) : 0;
}
static inline X509 *copenssl_certificate(const STACK_OF(X509) *stack, int index) {
    return sk_X509_value(stack, index);
}
static inline void copenssl_free_certificates(STACK_OF(X509) *stack) {
    sk_X509_pop_free(stack, X509_free);
}
static inline int copenssl_name_count(const STACK_OF(X509_NAME) *stack) {
    return stack ? sk_X509_NAME_num(stack) : 0;
}
static inline const X509_NAME *copenssl_name(const STACK_OF(X509_NAME) *stack, int index) {
    return sk_X509_NAME_value(stack, index);
}

/* The subject's alternative names (RFC 5280 section 4.2.1.6), or null; freed by the caller. */
static inline GENERAL_NAMES *copenssl_alternative_names(const X509 *certificate) {
    return (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
}
static inline int copenssl_general_name_count(const GENERAL_NAMES *names) {
    return names ? sk_GENERAL_NAME_num(names) : 0;
}
/* The bytes of a host name or an address; null for every other kind of name. */
static inline const ASN1_STRING *copenssl_general_name(
    const GENERAL_NAMES *names, int index, int *is_address) {
    int type = -1;
    const ASN1_STRING *value =
        (const ASN1_STRING *)GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, index), &type);
    *is_address = type == GEN_IPADD;
    return type == GEN_DNS || type == GEN_IPADD ? value : NULL;
}

/* What was written to a BIO in memory. */
static inline long copenssl_written(BIO *bio, char **bytes) {
    return BIO_get_mem_data(bio, bytes);
}

/* RFC 2253, with everything escaped that is not a printable character of ASCII. */
static const unsigned long copenssl_name_style = XN_FLAG_RFC2253;

/* What a server's context is set to; all of these are macros of OpenSSL's. */
static inline int copenssl_set_oldest_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version);
}
static inline void copenssl_set_mode(SSL_CTX *context, long mode) {
    SSL_CTX_set_mode(context, mode);
}
static inline void copenssl_keep_no_sessions(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}
static inline int copenssl_set_groups(SSL_CTX *context, const char *names) {
    return SSL_CTX_set1_groups_list(context, (char *)names);
}
static inline void copenssl_read_ahead(SSL_CTX *context) {
    SSL_CTX_set_read_ahead(context, 1);
}
static inline void copenssl_limit_certificates(SSL_CTX *context, long bytes) {
    SSL_CTX_set_max_cert_list(context, bytes);
}
/* How many bytes the keys of tickets have, and new ones. */
static inline long copenssl_ticket_key_size(SSL_CTX *context) {
    return SSL_CTX_get_tlsext_ticket_keys(context, NULL, 0);
}
static inline long copenssl_set_ticket_keys(SSL_CTX *context, unsigned char *bytes, long count) {
    return SSL_CTX_set_tlsext_ticket_keys(context, bytes, count);
}
/* The name that a client asks a server for (RFC 6066 section 3). */
static inline int copenssl_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}
static const uint64_t copenssl_no_renegotiation = SSL_OP_NO_RENEGOTIATION;
static const uint64_t copenssl_no_compression = SSL_OP_NO_COMPRESSION;

/* Stacks that are built, and their order. */
static inline STACK_OF(X509) *copenssl_new_certificates(void) {
    return sk_X509_new_null();
}
static inline int copenssl_append_certificate(STACK_OF(X509) *stack, X509 *certificate) {
    return sk_X509_push(stack, certificate) > 0;
}

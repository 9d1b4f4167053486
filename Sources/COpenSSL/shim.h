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

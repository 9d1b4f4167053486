#pragma once
#include <curl/curl.h>

/* Swift cannot call C's variadic functions, so here is one typed wrapper for each kind of argument of
   curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt, and the macros that Swift cannot read.
   <https://curl.se/libcurl/c/curl_easy_setopt.html> */

/* What curl_multi_socket_action calls a turn without a socket; a macro with a cast. */
static const curl_socket_t ccurl_socket_timeout = CURL_SOCKET_TIMEOUT;
static const curl_socket_t ccurl_socket_bad = CURL_SOCKET_BAD;
static const size_t ccurl_writefunc_pause = CURL_WRITEFUNC_PAUSE;
static const long ccurl_tls_1_2 = CURL_SSLVERSION_TLSv1_2;
static const long ccurl_auth_basic = (long)CURLAUTH_BASIC;
static const long ccurl_auth_ntlm = (long)CURLAUTH_NTLM;

/* Options of an easy handle. */
static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
/* Also for a curl_slist and a CURLU. */
static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}
/* CURLOPT_WRITEFUNCTION, CURLOPT_HEADERFUNCTION and CURLOPT_READFUNCTION have one shape. */
static inline CURLcode ccurl_set_bytes_callback(
    CURL *easy, CURLoption option, size_t (*callback)(char *, size_t, size_t, void *)) {
    return curl_easy_setopt(easy, option, callback);
}
static inline CURLcode ccurl_set_seek_callback(CURL *easy, curl_seek_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, callback);
}
static inline CURLcode ccurl_set_opensocket_callback(CURL *easy, curl_opensocket_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}
static inline CURLcode ccurl_set_closesocket_callback(
    CURL *easy, curl_closesocket_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}
static inline CURLcode ccurl_set_prereq_callback(CURL *easy, curl_prereq_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}
static inline CURLcode ccurl_set_progress_callback(CURL *easy, curl_xferinfo_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, callback);
}
/* The function gets the SSL_CTX of each connection before its handshake. */
static inline CURLcode ccurl_set_ssl_context_callback(CURL *easy, curl_ssl_ctx_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, callback);
}
/* Bytes, which libcurl copies. */
static inline CURLcode ccurl_set_blob(
    CURL *easy, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}

/* What an easy handle tells. */
static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode ccurl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode ccurl_get_string(CURL *easy, CURLINFO info, const char **value) {
    return curl_easy_getinfo(easy, info, value);
}
/* The socket of the connection that was used last; CURL_SOCKET_BAD where it is closed. */
static inline curl_socket_t ccurl_get_socket(CURL *easy) {
    curl_socket_t value = CURL_SOCKET_BAD;
    return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &value) == CURLE_OK ? value
                                                                              : CURL_SOCKET_BAD;
}
/* The SSL of the connection in use; null without one, or where it is not OpenSSL's. */
static inline void *ccurl_get_ssl(CURL *easy) {
    struct curl_tlssessioninfo *session = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || !session ||
        session->backend != CURLSSLBACKEND_OPENSSL) {
        return NULL;
    }
    return session->internals;
}

/* Options of a multi handle. */
static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode ccurl_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode ccurl_multi_set_socket_callback(CURLM *multi, curl_socket_callback callback) {
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
}
static inline CURLMcode ccurl_multi_set_timer_callback(
    CURLM *multi, curl_multi_timer_callback callback) {
    return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
}

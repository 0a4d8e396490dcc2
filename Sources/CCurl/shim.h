// libcurl, with typed wrappers for its variadic functions, which Swift does not import.
//
// One function per C type of argument, so that a wrong type is a compile error and not undefined behaviour. All are
// static inline: no C target needs compiling. libcurl 7.88 or later is meant (CURLOPT_PROTOCOLS_STR is of 7.85).
#ifndef RANKFS_CCURL_SHIM_H
#define RANKFS_CCURL_SHIM_H

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

// Called with the bytes of a body (CURLOPT_WRITEFUNCTION(3)); fewer bytes returned than given end the transfer.
typedef size_t (*rankfs_curl_write)(char *_Nonnull bytes, size_t size, size_t count, void *_Nonnull context);

// Called when what was sent is to be sent again from an offset (CURLOPT_SEEKFUNCTION(3)).
typedef int (*rankfs_curl_seek)(void *_Nonnull context, curl_off_t offset, int origin);

// Called before a socket is opened (CURLOPT_OPENSOCKETFUNCTION(3)); CURL_SOCKET_BAD refuses the address.
typedef curl_socket_t (*rankfs_curl_open)(
    void *_Nonnull context, curlsocktype purpose, struct curl_sockaddr *_Nonnull address);

// Called in place of close(2) for a socket (CURLOPT_CLOSESOCKETFUNCTION(3)); 0 if it went well.
typedef int (*rankfs_curl_close)(void *_Nonnull context, curl_socket_t item);

// CURL_GLOBAL_DEFAULT is an expression, which Swift does not import.
static inline CURLcode rankfs_curl_global_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

static inline CURLcode rankfs_curl_easy_setopt_long(CURL *_Nonnull easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode rankfs_curl_easy_setopt_string(
    CURL *_Nonnull easy, CURLoption option, const char *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode rankfs_curl_easy_setopt_pointer(CURL *_Nonnull easy, CURLoption option, void *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode rankfs_curl_easy_setopt_list(
    CURL *_Nonnull easy, CURLoption option, struct curl_slist *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode rankfs_curl_easy_setopt_write(
    CURL *_Nonnull easy, CURLoption option, rankfs_curl_write _Nonnull function) {
    return curl_easy_setopt(easy, option, function);
}

static inline CURLcode rankfs_curl_easy_setopt_seek(
    CURL *_Nonnull easy, CURLoption option, rankfs_curl_seek _Nonnull function) {
    return curl_easy_setopt(easy, option, function);
}

static inline CURLcode rankfs_curl_easy_setopt_offset(CURL *_Nonnull easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode rankfs_curl_easy_setopt_open(
    CURL *_Nonnull easy, CURLoption option, rankfs_curl_open _Nonnull function) {
    return curl_easy_setopt(easy, option, function);
}

static inline CURLcode rankfs_curl_easy_setopt_close(
    CURL *_Nonnull easy, CURLoption option, rankfs_curl_close _Nonnull function) {
    return curl_easy_setopt(easy, option, function);
}

static inline CURLcode rankfs_curl_easy_getinfo_long(CURL *_Nonnull easy, CURLINFO info, long *_Nonnull value) {
    return curl_easy_getinfo(easy, info, value);
}

/// The address that a transfer was made to, as digits; empty without one.
static inline const char *_Nonnull rankfs_curl_easy_getinfo_address(CURL *_Nonnull easy) {
    char *address = NULL;
    return curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &address) == CURLE_OK && address ? address : "";
}

static inline CURLcode rankfs_curl_easy_getinfo_offset(
    CURL *_Nonnull easy, CURLINFO info, curl_off_t *_Nonnull value) {
    return curl_easy_getinfo(easy, info, value);
}

// The certificates that a server showed, or NULL (CURLINFO_CERTINFO(3)); they live as long as the handle is not used again.
static inline const struct curl_certinfo *_Nullable rankfs_curl_easy_getinfo_certificates(CURL *_Nonnull easy) {
    struct curl_certinfo *chain = NULL;
    return curl_easy_getinfo(easy, CURLINFO_CERTINFO, &chain) == CURLE_OK ? chain : NULL;
}

static inline CURLMcode rankfs_curl_multi_setopt_long(CURLM *_Nonnull multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

// The code of a finished transfer: a member of a union, which Swift reads only unsafely (curl_multi_info_read(3)).
static inline CURLcode rankfs_curl_message_result(const CURLMsg *_Nonnull message) { return message->data.result; }

// The address that a socket is about to connect to; its storage is longer than the declared member.
static inline const struct sockaddr *_Nonnull rankfs_curl_sockaddr_address(
    const struct curl_sockaddr *_Nonnull address) {
    return &address->addr;
}

#endif

// libmicrohttpd, the embedded origin's HTTP server.
//
// MHD_start_daemon and MHD_get_connection_info take variable arguments, which Swift cannot call; struct sockaddr is
// awkward there.
#ifndef RANKFS_CMICROHTTPD_SHIM_H
#define RANKFS_CMICROHTTPD_SHIM_H

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

/// Starts a daemon on 127.0.0.1 with a thread per connection; port 0 picks a free one. NULL on failure, errno tells.
static inline struct MHD_Daemon *rankfs_mhd_start(
    uint16_t port, unsigned int connection_limit, MHD_AccessHandlerCallback handler,
    void *(*uri_seen)(void *cls, const char *uri, struct MHD_Connection *connection),
    MHD_RequestCompletedCallback completed, MHD_NotifyConnectionCallback connected, void *cls) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return MHD_start_daemon(
      MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC, port, NULL, NULL,
      handler, cls, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_CONNECTION_LIMIT, connection_limit,
      MHD_OPTION_URI_LOG_CALLBACK, uri_seen, cls, MHD_OPTION_NOTIFY_COMPLETED, completed, cls,
      MHD_OPTION_NOTIFY_CONNECTION, connected, cls, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(64 * 1024),
      MHD_OPTION_END);
}

/// The port that a daemon listens on.
static inline uint16_t rankfs_mhd_port(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info ? info->port : 0;
}

/// The socket of a connection, or -1.
static inline int rankfs_mhd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

/// Sends small pieces at once (TCP_NODELAY): else a body's first piece waits for the acknowledgement of its header, which a
/// client on a connection it has used before delays by 40 ms (tcp(7)).
static inline int rankfs_send_at_once(int fd) {
  int on = 1;
  return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Where a connection keeps the server's own pointer.
static inline void *rankfs_mhd_socket_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

/// Dissolves a TCP connection, which resets it (connect(2), "AF_UNSPEC").
static inline int rankfs_reset(int fd) {
  struct sockaddr address;
  memset(&address, 0, sizeof address);
  address.sa_family = AF_UNSPEC;
  return connect(fd, &address, sizeof address);
}

#endif

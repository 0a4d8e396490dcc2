// libmicrohttpd, the embedded origin's HTTP server.
#ifndef RANKFS_CMICROHTTPD_SHIM_H
#define RANKFS_CMICROHTTPD_SHIM_H

#include <microhttpd.h>

#endif

// libcurl, with typed wrappers for its variadic functions, which Swift does not import.
#ifndef RANKFS_CCURL_SHIM_H
#define RANKFS_CCURL_SHIM_H

#include <curl/curl.h>

#endif

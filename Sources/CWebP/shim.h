// libwebp's encoder: the pictures of an animation are compressed with it; what holds them together is written here.
#ifndef RANKFS_CWEBP_SHIM_H
#define RANKFS_CWEBP_SHIM_H

#include <webp/encode.h>

#endif

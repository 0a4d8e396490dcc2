// cairo, which draws the embedded origin's pictures.
#ifndef RANKFS_CCAIRO_SHIM_H
#define RANKFS_CCAIRO_SHIM_H

#include <cairo.h>

#endif

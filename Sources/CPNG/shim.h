// libpng's simplified interface (png_image_…): it reports errors by its result and jumps nowhere.
#ifndef RANKFS_CPNG_SHIM_H
#define RANKFS_CPNG_SHIM_H

#include <png.h>

#endif

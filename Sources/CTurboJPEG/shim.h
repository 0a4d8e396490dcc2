// libjpeg-turbo's TurboJPEG interface: compresses what is drawn, reads the pictures of an animation.
#ifndef RANKFS_CTURBOJPEG_SHIM_H
#define RANKFS_CTURBOJPEG_SHIM_H

#include <turbojpeg.h>

#endif

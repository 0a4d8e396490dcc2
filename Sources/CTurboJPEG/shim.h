// libjpeg-turbo's TurboJPEG interface: the embedded origin compresses its pictures with it.
#ifndef RANKFS_CTURBOJPEG_SHIM_H
#define RANKFS_CTURBOJPEG_SHIM_H

#include <turbojpeg.h>

#endif

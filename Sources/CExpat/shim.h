// Expat: reads the lists that object stores answer with.
#ifndef RANKFS_CEXPAT_SHIM_H
#define RANKFS_CEXPAT_SHIM_H

#include <expat.h>

#endif

// Nothing to call: linking this target is enough (see mutex.c).
#ifndef RANKFS_CTHREADSANITIZER_H
#define RANKFS_CTHREADSANITIZER_H
#endif

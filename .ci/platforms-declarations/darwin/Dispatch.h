/* The Clang module `Dispatch`. */
#include <dispatch/dispatch.h>

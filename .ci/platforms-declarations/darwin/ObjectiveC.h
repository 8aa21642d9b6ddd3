/* The Clang module `ObjectiveC`: the headers that Dispatch includes. */
#include <objc/objc.h>
#include <objc/NSObject.h>
#include <objc/runtime.h>
#include <os/object.h>

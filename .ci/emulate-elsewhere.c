/* Loaded into the tests by `emulate-elsewhere`: Dispatch and the standard library see as many */
/* processors as EMULATED_PROCESSORS says, because they start that many threads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int processors(void) {
  const char *number = getenv("EMULATED_PROCESSORS");
  return number ? atoi(number) : 8;
}

long sysconf(int name) {
  static long (*original)(int);
  if (!original) original = dlsym(RTLD_NEXT, "sysconf");
  if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return processors();
  return original(name);
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
  memset(set, 0, size);
  for (int number = 0; number < processors(); number++) CPU_SET_S(number, size, set);
  return 0;
}

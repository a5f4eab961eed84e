// A library that holds a lock of its own over fork, its handlers registered as early as can be.
#include <pthread.h>
pthread_mutex_t early_lock = PTHREAD_MUTEX_INITIALIZER;
static void lock(void) { pthread_mutex_lock(&early_lock); }
static void unlock(void) { pthread_mutex_unlock(&early_lock); }
__attribute__((constructor(101))) static void early(void) { pthread_atfork(lock, unlock, unlock); }

// A library whose threads call back. It has a key of its own, whose destructor frees.
#include <pthread.h>
#include <stdlib.h>
static pthread_key_t keys[8];
static void (*back)(void);
static void *thread(void *arg) {
  pthread_setspecific(keys[0], malloc(10));
  back();
  return arg;
}
int call_back(int n, void (*f)(void)) {
  pthread_t t;
  void *r;
  back = f;
  for (int i = 0; i < 8; i++)
    if (pthread_key_create(&keys[i], free)) return -1;
  for (int i = 0; i < n; i++)
    if (pthread_create(&t, 0, thread, keys) || pthread_join(t, &r) || r != keys) return -1;
  for (int i = 0; i < 8; i++) pthread_key_delete(keys[i]);
  return n;
}

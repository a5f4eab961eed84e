// A library that registers fork handlers in the earliest constructor there is; they use the heap.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
int early_prepared, early_parents, early_children;
void *early_block;
static void use(void) {
  void *v[40];
  for (int i = 0; i < 40; i++) v[i] = malloc((size_t)(1 + i * i * 61));
  for (int i = 0; i < 40; i++) free(v[i]);
}
static void prepare(void) {
  early_prepared++;
  use();
  early_block = malloc(20000);
  if (!early_block) abort();
  memset(early_block, 7, 20000);
}
static void parent(void) {
  early_parents++;
  free(early_block);
  early_block = 0;
  use();
}
static void child(void) {
  early_children++;
  use();
}
__attribute__((constructor(101))) static void early(void) { pthread_atfork(prepare, parent, child); }

// A library whose earliest constructor allocates a block and whose destructor uses the heap.
#include <stdlib.h>
#include <string.h>
static char *block;
__attribute__((constructor(101))) static void first(void) {
  block = malloc(40);
  if (!block) abort();
  strcpy(block, "lib");
}
char *library_block(void) { return block; }
__attribute__((destructor)) static void last(void) { free(malloc(10)); }

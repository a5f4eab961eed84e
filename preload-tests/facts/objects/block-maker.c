// A library that makes, resizes and frees blocks for others.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void *make_block(size_t n) { return malloc(n); }
void *resize_block(void *p, size_t n) { return realloc(p, n); }
void drop_block(void *p) { free(p); }
char *make_text(const char *s) {
  char *r = 0, *copy = strdup(s);
  if (asprintf(&r, "%s and more", copy) < 0) r = 0;
  free(copy);
  return r;
}

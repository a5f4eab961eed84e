// An interpreter's day: short strings built, joined, looked up in a chained hash table, replaced and
// dropped; the table itself grows. Sizes follow the strings' lengths, lifetimes are anything.
// Arguments: words in the table, operations.
#include "bench.h"

typedef struct entry {
  struct entry *next;
  char *key, *value;
  uint32_t hash;
} entry_t;

static entry_t **bucket;
static uint32_t buckets, entries;

static uint32_t hash(const char *s) {
  uint32_t h = 2166136261u;
  while (*s) h = (h ^ (unsigned char)*s++) * 16777619u;
  return h;
}

static char *word(uint32_t id) {
  char text[64];
  int n = snprintf(text, sizeof text, "name%x.%.*s", id, (int)(id % 23), "abcdefghijklmnopqrstuvwxyz");
  char *p = malloc((size_t)n + 1);
  NEED(p);
  return memcpy(p, text, (size_t)n + 1);
}

static char *join(const char *a, const char *b) {
  size_t na = strlen(a), nb = strlen(b);
  char *p = malloc(na + nb + 1);
  NEED(p);
  memcpy(p, a, na);
  memcpy(p + na, b, nb + 1);
  return p;
}

static entry_t **find(const char *key, uint32_t h) {
  entry_t **e = &bucket[h & (buckets - 1)];
  while (*e && ((*e)->hash != h || strcmp((*e)->key, key))) e = &(*e)->next;
  return e;
}

static void widen(void) {
  uint32_t old = buckets;
  entry_t **from = bucket;
  buckets = old ? old * 2 : 64;
  bucket = calloc(buckets, sizeof *bucket);
  NEED(bucket);
  for (uint32_t i = 0; i < old; i++)
    for (entry_t *e = from[i], *next; e; e = next) {
      next = e->next;
      e->next = bucket[e->hash & (buckets - 1)];
      bucket[e->hash & (buckets - 1)] = e;
    }
  free(from);
}

int main(int argc, char **argv) {
  NEED(argc == 3);
  uint32_t words = (uint32_t)atoi(argv[1]);
  int ops = atoi(argv[2]);
  rng_t r = {43};
  uint64_t sum = 0;
  for (int i = 0; i < ops; i++) {
    if (entries >= buckets) widen();
    char *key = word(below(&r, words));
    uint32_t h = hash(key);
    entry_t **at = find(key, h), *e = *at;
    if (!e) {
      e = malloc(sizeof *e);
      NEED(e);
      *e = (entry_t){NULL, key, word(rnd(&r)), h};
      *at = e;
      entries++;
    } else if (below(&r, 4) == 0) {
      *at = e->next;
      sum += strlen(e->value);
      free(e->key);
      free(e->value);
      free(e);
      free(key);
      entries--;
    } else {
      // Concatenation until the value is long, then a fresh one.
      char *next = strlen(e->value) < 400 ? join(e->value, key) : word(rnd(&r));
      free(e->value);
      e->value = next;
      free(key);
    }
  }
  for (uint32_t i = 0; i < buckets; i++)
    for (entry_t *e = bucket[i], *next; e; e = next) {
      next = e->next;
      sum += strlen(e->value) + e->hash;
      free(e->key);
      free(e->value);
      free(e);
    }
  free(bucket);
  done(sum);
}

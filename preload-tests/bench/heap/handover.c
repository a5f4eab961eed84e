// Producers allocate, consumers free: every block crosses from one thread to another. Blocks travel
// in batches through a queue under a mutex, so that the heap and not the queue is measured. `one`
// asks for 64 bytes always, `mixed` for small sizes of every kind. `ring` makes every thread both:
// it frees its left neighbour's batch and fills one for its right neighbour.
// Arguments: kind, pairs (or threads of the ring), batches.
#include "bench.h"

enum { BATCH = 256, DEPTH = 16 };

typedef struct {
  pthread_mutex_t m;
  pthread_cond_t more, less;
  int n, head;
  void **slot[DEPTH];
} queue_t;

static int mixed, batches, threads;
static queue_t queue[64];

static void push(queue_t *q, void **b) {
  pthread_mutex_lock(&q->m);
  while (q->n == DEPTH) pthread_cond_wait(&q->less, &q->m);
  q->slot[(q->head + q->n++) % DEPTH] = b;
  if (q->n == 1) pthread_cond_signal(&q->more);
  pthread_mutex_unlock(&q->m);
}

static void **pull(queue_t *q) {
  pthread_mutex_lock(&q->m);
  while (q->n == 0) pthread_cond_wait(&q->more, &q->m);
  void **b = q->slot[q->head];
  q->head = (q->head + 1) % DEPTH;
  if (q->n-- == DEPTH) pthread_cond_signal(&q->less);
  pthread_mutex_unlock(&q->m);
  return b;
}

static void **fill(rng_t *r) {
  void **b = get(sizeof(void *) * BATCH);
  for (int i = 0; i < BATCH; i++) b[i] = get(mixed ? small_size(r) : 64);
  return b;
}

static uint64_t drain(void **b) {
  uint64_t sum = 0;
  for (int i = 0; i < BATCH; i++) sum += put(b[i]);
  free(b);
  return sum;
}

static void *produce(void *arg) {
  rng_t r = {(uintptr_t)arg + 3};
  for (int i = 0; i < batches; i++) push(&queue[(uintptr_t)arg], fill(&r));
  return NULL;
}

static void *consume(void *arg) {
  uint64_t sum = 0;
  for (int i = 0; i < batches; i++) sum += drain(pull(&queue[(uintptr_t)arg]));
  return (void *)(uintptr_t)sum;
}

static void *both(void *arg) {
  uintptr_t me = (uintptr_t)arg;
  rng_t r = {me + 3};
  uint64_t sum = 0;
  for (int i = 0; i < batches; i++) {
    push(&queue[(me + 1) % (uintptr_t)threads], fill(&r));
    sum += drain(pull(&queue[me]));
  }
  return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv) {
  NEED(argc == 4);
  int ring = is(argv[1], "ring");
  mixed = ring || is(argv[1], "mixed");
  threads = atoi(argv[2]);
  batches = atoi(argv[3]);
  pthread_t t[128];
  uint64_t sum = 0;
  NEED(threads >= 1 && threads <= 64);
  for (int i = 0; i < threads; i++) {
    pthread_mutex_init(&queue[i].m, NULL);
    pthread_cond_init(&queue[i].more, NULL);
    pthread_cond_init(&queue[i].less, NULL);
  }
  for (int i = 0; i < threads; i++) {
    t[2 * i] = spawn(ring ? both : produce, (void *)(uintptr_t)i);
    if (!ring) t[2 * i + 1] = spawn(consume, (void *)(uintptr_t)i);
  }
  for (int i = 0; i < threads; i++) {
    sum += (uintptr_t)await(t[2 * i]);
    if (!ring) sum += (uintptr_t)await(t[2 * i + 1]);
  }
  done(sum);
}

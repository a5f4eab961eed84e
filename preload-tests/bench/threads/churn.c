// Threads that come and go, in one or several processes at once, each doing the same number of
// create+join pairs. `one`: joined before the next is created. `batch`: 256 created, then 256 joined.
// `detached`: never joined, at most 64 of them alive. `alloc`: as `one`, and the thread allocates and
// frees 50 blocks. `floor`: a bare clone of a thread that exits at once and a futex wait for its end,
// on a stack that is there already: what the kernel alone costs. Prints the slowest process's seconds.
// Arguments: kind, processes, pairs per process.
#include "thread.h"
#include <linux/futex.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { BATCH = 256, DETACHED = 64 };
static sem_t room;

// What a thread is given and must give back: its number, so that a lost or swapped result is seen.
#define TOKEN(i) ((void *)(intptr_t)((i) + 1))

static void *leaf(void *arg) { return arg; }

static void *leaf_alloc(void *arg) {
  void *p[50];
  for (int i = 0; i < 50; i++) {
    p[i] = malloc((size_t)(16 + i * 24));
    NEED(p[i]);
    *(char *)p[i] = 1;
  }
  for (int i = 0; i < 50; i++) free(p[i]);
  return arg;
}

static void *leaf_detached(void *arg) {
  sem_post(&room);
  return arg;
}

static int bare(void *arg) {
  (void)arg;
  return 0;
}

// glibc's clone wrapper gives the thread its function; the kernel clears and wakes the word at its end.
static void bare_pair(char *stack_top, int *word) {
  *word = 1;
  int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
              CLONE_CHILD_CLEARTID;
  int tid = clone(bare, stack_top, flags, NULL, NULL, NULL, word);
  NEED(tid > 0);
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE)) syscall(SYS_futex, word, FUTEX_WAIT, 1, NULL, NULL, 0);
}

static double work(const char *kind, int pairs) {
  pthread_attr_t detached;
  NEED_0(pthread_attr_init(&detached));
  NEED_0(pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED));
  pthread_t t[BATCH];
  double t0 = now();
  if (!strcmp(kind, "one") || !strcmp(kind, "alloc")) {
    void *(*f)(void *) = kind[0] == 'o' ? leaf : leaf_alloc;
    for (int i = 0; i < pairs; i++) {
      void *v;
      NEED_0(pthread_create(t, NULL, f, TOKEN(i)));
      NEED_0(pthread_join(t[0], &v));
      NEED(v == TOKEN(i));
    }
  } else if (!strcmp(kind, "batch")) {
    for (int i = 0; i < pairs; i += BATCH) {
      for (int k = 0; k < BATCH; k++) NEED_0(pthread_create(&t[k], NULL, leaf, TOKEN(k)));
      for (int k = 0; k < BATCH; k++) {
        void *v;
        NEED_0(pthread_join(t[k], &v));
        NEED(v == TOKEN(k));
      }
    }
  } else if (!strcmp(kind, "detached")) {
    NEED_0(sem_init(&room, 0, DETACHED));
    for (int i = 0; i < pairs; i++) {
      while (sem_wait(&room)) NEED(errno == EINTR);
      NEED_0(pthread_create(t, &detached, leaf_detached, NULL));
    }
    for (int i = 0; i < DETACHED; i++)
      while (sem_wait(&room)) NEED(errno == EINTR);
  } else {
    NEED(!strcmp(kind, "floor"));
    size_t size = 64 << 10;
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    NEED(stack != MAP_FAILED);
    static int word;
    for (int i = 0; i < pairs; i++) bare_pair(stack + size, &word);
  }
  return now() - t0;
}

int main(int argc, char **argv) {
  NEED(argc == 4);
  int processes = atoi(argv[2]), pairs = atoi(argv[3]);
  // One process works here itself, so that strace counts and perf attributes without a fork between.
  if (processes == 1) {
    fprintf(stderr, "{\"seconds\": %.6f}\n", work(argv[1], pairs));
    puts("done");
    return 0;
  }
  struct shared { pthread_barrier_t go; double seconds[256]; } *s =
      mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  NEED(s != MAP_FAILED && processes >= 1 && processes <= 256);
  pthread_barrierattr_t a;
  NEED_0(pthread_barrierattr_init(&a));
  NEED_0(pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
  NEED_0(pthread_barrier_init(&s->go, &a, (unsigned)processes));
  for (int p = 0; p < processes; p++) {
    pid_t pid = fork();
    NEED(pid >= 0);
    if (pid == 0) {
      pthread_barrier_wait(&s->go);
      s->seconds[p] = work(argv[1], pairs);
      _exit(0);
    }
  }
  double slowest = 0;
  for (int p = 0; p < processes; p++) {
    int status;
    NEED(wait(&status) > 0 && status == 0);
  }
  for (int p = 0; p < processes; p++)
    if (s->seconds[p] > slowest) slowest = s->seconds[p];
  fprintf(stderr, "{\"seconds\": %.6f}\n", slowest);
  puts("done");
  return 0;
}

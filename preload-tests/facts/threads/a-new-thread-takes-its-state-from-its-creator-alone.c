// A new thread starts from its creator's state and from the initial TLS image; nothing of a thread
// that ended before shows. Spoiler threads change all they can, then end.
// flags: -lm
#include "check.h"
#include <fenv.h>
#include <locale.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
static __thread int tls_init = 77;
static __thread char tls_zero[3000];
static pthread_key_t key;
static locale_t c_locale;

struct state {
  sigset_t mask;
  cpu_set_t cpu;
  int nice, policy, priority, rounding, cancel, cancel_type, fsuid, no_new_privs, bounding;
  unsigned long slack;
  long ioprio;
  stack_t alt;
  locale_t locale;
  char name[16], cwd[200], uts[64];
};
static void get(struct state *s) {
  struct sched_param p;
  int old;
  memset(s, 0, sizeof *s);
  pthread_sigmask(SIG_BLOCK, 0, &s->mask);
  sched_getaffinity(0, sizeof s->cpu, &s->cpu);
  s->nice = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
  s->policy = sched_getscheduler(0);
  sched_getparam(0, &p);
  s->priority = p.sched_priority;
  s->rounding = fegetround();
  prctl(PR_GET_NAME, s->name);
  s->slack = (unsigned long)prctl(PR_GET_TIMERSLACK);
  sigaltstack(0, &s->alt);
  s->alt.ss_sp = 0;
  s->alt.ss_size = 0;
  s->fsuid = setfsuid((uid_t)-1);
  s->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  s->bounding = prctl(PR_CAPBSET_READ, 5);
  s->locale = uselocale(0);
  s->ioprio = syscall(SYS_ioprio_get, 1, 0);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
  s->cancel = old;
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old);
  s->cancel_type = old;
  if (readlink("/proc/thread-self/ns/uts", s->uts, 60) < 0) s->uts[0] = '?';
  if (!getcwd(s->cwd, sizeof s->cwd)) s->cwd[0] = '?';
}

static void *look(void *v) {
  int e = errno;
  CHECK(e == 0, "errno starts at %d", e);
  CHECK(tls_init == 77, "TLS starts at %d", tls_init);
  for (int i = 0; i < 3000; i++) CHECK(!tls_zero[i], "zero TLS is dirty at %d", i);
  CHECK(!pthread_getspecific(key), "a key's value of another thread");
  sigset_t p;
  sigpending(&p);
  CHECK(!sigismember(&p, SIGUSR2), "a pending signal of another thread");
  CHECK(fetestexcept(FE_DIVBYZERO) == 0, "a floating point exception of another thread");
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  CHECK(t.tv_sec == 0 && t.tv_nsec < 40000000, "the thread's CPU clock starts at %ld.%03ld", (long)t.tv_sec,
        t.tv_nsec / 1000000);
  struct rusage r;
  getrusage(RUSAGE_THREAD, &r);
  CHECK(r.ru_utime.tv_sec == 0 && r.ru_utime.tv_usec < 40000, "RUSAGE_THREAD starts at %ld us", (long)r.ru_utime.tv_usec);
  get(v);
  return 0;
}

static void *spoil(void *arg) {
  static __thread char alt[16384];
  stack_t ss = { .ss_sp = alt, .ss_size = sizeof alt };
  sigset_t m;
  cpu_set_t c;
  struct sched_param p = { 0 };
  struct timespec t;
  errno = 99;
  tls_init = 1;
  memset(tls_zero, 3, sizeof tls_zero);
  pthread_setspecific(key, &key);
  sigfillset(&m);
  pthread_sigmask(SIG_SETMASK, &m, 0);
  pthread_kill(pthread_self(), SIGUSR2);
  CPU_ZERO(&c);
  CPU_SET(sched_getcpu(), &c);
  sched_setaffinity(0, sizeof c, &c);
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
  fesetround(FE_UPWARD);
  feraiseexcept(FE_DIVBYZERO);
  pthread_setname_np(pthread_self(), "spoiler");
  prctl(PR_SET_TIMERSLACK, 777777);
  setfsuid(1234);
  uselocale(c_locale);
  sigaltstack(&ss, 0);
  syscall(SYS_ioprio_set, 1, 0, 3 << 13);
  sched_setscheduler(0, SCHED_BATCH, &p);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_CAPBSET_DROP, 5, 0, 0, 0);
  if (!unshare(CLONE_FS)) {
    umask(0);
    if (chdir("/")) CHECK(0, "chdir");
  }
  if (!unshare(CLONE_NEWUTS)) errno = 98;
  if (!unshare(CLONE_FILES)) close(1);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  while (t.tv_nsec < 60000000 && !t.tv_sec);
  return arg;
}

static void compare(struct state *a, struct state *b, const char *who) {
#define SAME(f) CHECK(!memcmp(&a->f, &b->f, sizeof a->f), "%s: " #f " is not the creator's", who)
  SAME(mask);
  SAME(cpu);
  SAME(nice);
  SAME(policy);
  SAME(priority);
  SAME(rounding);
  SAME(cancel);
  SAME(cancel_type);
  SAME(slack);
  SAME(alt);
  SAME(fsuid);
  SAME(no_new_privs);
  SAME(bounding);
  SAME(locale);
  SAME(ioprio);
  CHECK(!strcmp(a->name, b->name), "%s: name '%s', the creator's '%s'", who, b->name, a->name);
  CHECK(!strcmp(a->uts, b->uts), "%s: a namespace of another thread", who);
  CHECK(!strcmp(a->cwd, b->cwd), "%s: working directory %s", who, b->cwd);
}
static void rounds(const char *who) {
  struct state me, s;
  get(&me);
  me.alt.ss_flags = SS_DISABLE;
  for (int i = 0; i < 8; i++) {
    if (i) finish(start(0, spoil, 0));
    finish(start(0, look, &s));
    compare(&me, &s, who);
    mode_t u = umask(022);
    CHECK(u == 022, "the process's umask changed");
    CHECK(fcntl(1, F_GETFD) >= 0, "a descriptor of the process was closed");
  }
}
// A creator with a state of its own, which its children must get.
static void *creator(void *arg) {
  struct state me, s;
  sigset_t m;
  cpu_set_t c;
  sigemptyset(&m);
  sigaddset(&m, SIGHUP);
  pthread_sigmask(SIG_SETMASK, &m, 0);
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 3);
  fesetround(FE_DOWNWARD);
  pthread_setname_np(pthread_self(), "boss");
  prctl(PR_SET_TIMERSLACK, 123456);
  CPU_ZERO(&c);
  CPU_SET(sched_getcpu(), &c);
  sched_setaffinity(0, sizeof c, &c);
  get(&me);
  me.locale = LC_GLOBAL_LOCALE;
  me.alt.ss_flags = SS_DISABLE;
  for (int i = 0; i < 5; i++) {
    finish(start(0, look, &s));
    compare(&me, &s, "child of a changed creator");
  }
  return arg;
}
int main(void) {
  umask(022);
  c_locale = newlocale(LC_ALL_MASK, "C", 0);
  pthread_key_create(&key, 0);
  rounds("main's child");
  finish(start(0, creator, 0));
  rounds("main's child after another creator");
  return 0;
}

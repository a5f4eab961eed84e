/*
 * The program that scripts/demo measures: it locks itself, starts threads,
 * lets each of them use the heap, and prints what the kernel says it costs.
 * Ordinary pthread code that knows nothing of any library.
 *
 * Usage: demo THREADS STACK GUARD ROUNDS
 *   STACK in bytes, or 0 for the default; GUARD in bytes, or -1 for the default
 *   ROUNDS of malloc and free in each thread
 *
 * Prints one line: threads, stack, guard, then the growth of VmLck, VmRSS and
 * Committed_AS in kB and of the number of mappings while all threads are there,
 * then the time in microseconds to create, run and join them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LIVE 100

static pthread_barrier_t here, leave;
static long rounds;

static _Noreturn void die(const char *what, int error)
{
    printf("%s: %s\n", what, strerror(error));
    exit(1);
}

/* Without stdio, whose buffers would be part of what is measured. */
static long read_file(const char *path, const char *field)
{
    static char text[1 << 20];
    size_t length = 0;
    ssize_t n;
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        die(path, errno);
    while ((n = read(fd, text + length, sizeof text - 1 - length)) > 0)
        length += n;
    close(fd);
    text[length] = 0;
    if (!field) {
        long lines = 0;
        for (char *p = text; (p = strchr(p, '\n')); p++)
            lines++;
        return lines;
    }
    char *p = strstr(text, field);
    return p ? atol(p + strlen(field)) : -1;
}

static void read_all(long v[4])
{
    v[0] = read_file("/proc/self/status", "VmLck:");
    v[1] = read_file("/proc/self/status", "VmRSS:");
    v[2] = read_file("/proc/meminfo", "Committed_AS:");
    v[3] = read_file("/proc/self/maps", NULL);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void *churn(void *arg)
{
    char *block[LIVE] = {0};
    unsigned long x = (unsigned long)arg + 1;
    for (long i = 0; i < rounds; i++) {
        x = x * 6364136223846793005UL + 1442695040888963407UL;
        int k = (x >> 33) % LIVE;
        size_t size = 16 + (x >> 40) % 1000;
        free(block[k]);
        if (!(block[k] = malloc(size)))
            die("malloc", errno);
        block[k][0] = block[k][size - 1] = 1;
    }
    pthread_barrier_wait(&here);
    pthread_barrier_wait(&leave);
    for (int k = 0; k < LIVE; k++)
        free(block[k]);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        die("usage", EINVAL);
    long threads = atol(argv[1]), before[4], during[4];
    size_t stack = strtoul(argv[2], NULL, 0), guard;
    pthread_t *t = calloc(threads, sizeof *t);
    pthread_attr_t attr;
    int e;

    rounds = atol(argv[4]);
    pthread_attr_init(&attr);
    if (stack && (e = pthread_attr_setstacksize(&attr, stack)))
        die("pthread_attr_setstacksize", e);
    if (argv[3][0] != '-' && (e = pthread_attr_setguardsize(&attr, strtoul(argv[3], NULL, 0))))
        die("pthread_attr_setguardsize", e);
    pthread_attr_getstacksize(&attr, &stack);
    pthread_attr_getguardsize(&attr, &guard);
    pthread_barrier_init(&here, NULL, threads + 1);
    pthread_barrier_init(&leave, NULL, threads + 1);
    if (mlockall(MCL_CURRENT | MCL_FUTURE))
        die("mlockall", errno);

    read_all(before);
    double start = now(), pause;
    for (long i = 0; i < threads; i++)
        if ((e = pthread_create(&t[i], &attr, churn, (void *)i))) {
            char what[80];
            snprintf(what, sizeof what, "pthread_create after %ld threads", i);
            die(what, e);
        }
    pthread_barrier_wait(&here);
    pause = now();
    read_all(during);
    start += now() - pause;
    pthread_barrier_wait(&leave);
    for (long i = 0; i < threads; i++)
        pthread_join(t[i], NULL);
    double end = now();

    printf("%ld %zu %zu", threads, stack, guard);
    for (int i = 0; i < 4; i++)
        printf(" %ld", during[i] - before[i]);
    printf(" %.0f\n", end - start);
    return 0;
}

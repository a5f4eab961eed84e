/* A thread that stays between two barriers, for facts about threads that are alive. The program
   initialises both for its threads and itself, and passes `in` when all are there. */
#ifndef STAY_H
#define STAY_H
#include "check.h"
static pthread_barrier_t in, out;
static void *stay(void *arg) {
  pthread_barrier_wait(&in);
  pthread_barrier_wait(&out);
  return arg;
}
#endif

// With tens of thousands of free runs between live blocks no single call takes long, neither one
// that comes after a rest and finds them idle, nor malloc_trim.
#include "check.h"
#include <malloc.h>
enum { N = 20000 };
static const size_t size[4] = { 70000, 33000, 34000, 33000 };
static char *block[4 * N];
static double took_ms(double since) { return (now_s() - since) * 1e3; }
int main(void) {
  for (int i = 0; i < 4 * N; i++) {
    CHECK(block[i] = malloc(size[i % 4]), "%d", i);
    block[i][0] = block[i][size[i % 4] - 1] = 1;
  }
  for (int i = 0; i < 4 * N; i += 2) free(block[i]);
  double worst = 0;
  for (int i = 0; i < 30; i++) {
    nap_ms(50);
    double t = now_s();
    free(malloc(300000));
    if (took_ms(t) > worst) worst = took_ms(t);
  }
  INFO("worst call %.2f ms", worst);
  // A scan of all runs for each run that goes takes seconds; the rest is a slow machine.
  CHECK(worst < 500, "%.0f ms", worst);
  double t = now_s();
  malloc_trim(0);
  INFO("malloc_trim %.1f ms", took_ms(t));
  CHECK(took_ms(t) < 2000, "%.0f ms", took_ms(t));
  return 0;
}

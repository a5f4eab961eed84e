// Runs a fact program inside a constructor of a shared library: the program is compiled with its
// main renamed to fact_main and linked with this file into that library.
#include <stdlib.h>
#ifdef AS_PROGRAM
// The executable around it, which must never get this far.
int main(void) { return 99; }
#else
extern int fact_main(int, char **, char **);
__attribute__((constructor)) static void run(int argc, char **argv, char **envp) {
  exit(fact_main(argc, argv, envp));
}
#endif

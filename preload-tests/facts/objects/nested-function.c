// An object whose code lives on the stack: the address of a nested function is taken.
static int call(int (*f)(int), int x) {
  int (*volatile g)(int) = f;
  return g(x);
}
int run_nested(int x) {
  volatile int add = 2;
  int plus(int y) { return y + add; }
  return call(plus, x);
}

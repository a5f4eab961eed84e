// A library that is found through its opener's RUNPATH alone.
int twelve(void) { return 12; }

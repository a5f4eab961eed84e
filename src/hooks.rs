//! The border: everything with a C name. Arguments are checked and errno is set here; below it
//! everything is `Option` or `Result`.
//!
//! | file | names |
//! |---|---|
//! | `heap` | the `malloc` family, `mallopt`, `mallinfo`, …, the `__libc_*` names |
//! | `thread` | `pthread_create`, `pthread_join`, `pthread_tryjoin_np`, `pthread_timedjoin_np`, `pthread_clockjoin_np`, `pthread_detach`, `pthread_getattr_np`, `thrd_create`, `thrd_join`, `thrd_detach`, `__register_atfork`, `mlockall`, `munlockall` (these two decided in `process`) |
//! | `process` | `dlopen` |
//! | `symbols` | `dlsym` |
//! | `start` | none: what runs when the library is loaded |
//!
//! Unit tests run on libc's functions: names are exported from the library alone.

#[cfg(not(test))]
mod heap;
#[cfg(not(test))]
mod process;
#[cfg(not(test))]
mod start;
#[cfg(not(test))]
mod symbols;
#[cfg(not(test))]
mod thread;

//! libfix: thread stacks and a heap for unmodified programs, by preloading.
//!
//! The floors, lowest first; a file uses only files on floors below its own.
//!
//! | floor | files | what belongs there |
//! |---|---|---|
//! | 0 machine | `arch`, `auxv`, `sys`, `atomic`, `lock`, `line`, `proc`, `fatal` | talks to the CPU or the kernel |
//! | 1 memory | `align`, `child`, `mapping`, `memlock` | changes a protection or a lock |
//! | 2 stacks | `stack`, `stack/cache` | is policy about stacks |
//! | 2 heap | `heap`, `heap/*` | is policy about blocks |
//! | 3 process | `config`, `thread`, `fork`, `report` | knows threads, settings or the whole process |
//! | 4 border | `hooks`, `hooks/*` | has a C name |
//!
//! Stacks and heap do not know each other. Nothing below the border calls an exported name,
//! and nothing here uses a part of std that allocates: std is linked for `redhook` alone.

#![cfg_attr(not(test), no_std)]
// Unit tests run without the hooks, so much of what is below them has no caller there.
#![cfg_attr(test, allow(dead_code, unused_imports, unused_macros))]

// The macros of `redhook` (hooks/thread.rs) name it as `::std`; nothing else may.
#[cfg(not(test))]
extern crate std;

mod arch;
mod atomic;
mod auxv;
mod fatal;
mod line;
mod lock;
mod proc;
mod sys;

mod align;
mod child;
mod mapping;
mod memlock;

mod stack;

mod heap;

mod config;
mod fork;
mod report;
mod thread;

mod hooks;

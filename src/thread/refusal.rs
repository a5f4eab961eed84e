//! Why a thread could not be had, in one line for whoever asked for it with `LIBFIX_VERBOSE`.
//!
//! Invariant: a limit is named only if what was needed does not fit what it leaves; where the kernel
//! does not tell, that is said.

use crate::line::Line;
use crate::mapping::Locked;
use crate::stack::{self, Shape};
use crate::sys::{self, Errno};
use crate::{memlock, proc};

/// What the kernel refused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    Memory(Errno),
    Thread,
}

/// A limit that was met.
struct Limit {
    name: &'static str,
    used: u64,
    allowed: u64,
    unit: &'static str,
    help: &'static str,
}

const STATUS: &core::ffi::CStr = c"/proc/self/status";

/// Writes the line for a thread with a stack of this shape.
#[cold]
#[inline(never)]
pub fn explain(shape: Shape, refused: Refused) {
    let line = Line::new("libfix: pthread_create: EAGAIN: needed a stack of ")
        .dec(shape.size as u64 / 1024)
        .str(" kB and a guard of ")
        .dec(shape.guard as u64 / 1024)
        .str(" kB; ");
    let limit = match refused {
        Refused::Memory(error) => locked(shape, error)
            .or_else(|| address_space(shape))
            .or_else(mappings)
            .or_else(|| committed(shape)),
        Refused::Thread => threads(),
    };
    match limit {
        Some(limit) => line
            .str(limit.name)
            .str(": ")
            .dec(limit.used)
            .str(" of ")
            .dec(limit.allowed)
            .str(limit.unit)
            .str(" used; ")
            .str(limit.help),
        None => line.str("the kernel does not tell which limit was met"),
    }
    .write(2);
}

fn locked(shape: Shape, error: Errno) -> Option<Limit> {
    let allowed = sys::soft_limit(libc::RLIMIT_MEMLOCK);
    if !memlock::future() || allowed == u64::MAX {
        return None;
    }
    let used = proc::number(STATUS, "VmLck:")? * 1024;
    let setting = stack::LOCKED.get();
    let needed = shape.size - setting.spared(shape.size);
    // Mapping gives EAGAIN for this reason alone, whatever has been given back since.
    let met = error == Errno(libc::EAGAIN) || used + needed as u64 > allowed;
    met.then_some(Limit {
        name: "locked memory (RLIMIT_MEMLOCK)",
        used: used / 1024,
        allowed: allowed / 1024,
        unit: " kB",
        help: match setting {
            Locked::Top(_) => "raise ulimit -l, or lower LIBFIX_STACK_LOCK",
            _ => "raise ulimit -l, or set LIBFIX_STACK_LOCK=64K",
        },
    })
}

fn address_space(shape: Shape) -> Option<Limit> {
    let allowed = sys::soft_limit(libc::RLIMIT_AS);
    let used = proc::number(STATUS, "VmSize:")? * 1024;
    (allowed - used.min(allowed) < (shape.size + shape.guard) as u64).then_some(Limit {
        name: "address space (RLIMIT_AS)",
        used: used / 1024,
        allowed: allowed / 1024,
        unit: " kB",
        help: "raise ulimit -v, or lower ulimit -s for smaller default stacks",
    })
}

fn mappings() -> Option<Limit> {
    /// What a stack takes and its making passes through.
    const NEEDED: u64 = 4;
    let used = proc::count_lines(c"/proc/self/maps")?;
    let allowed = proc::number(c"/proc/sys/vm/max_map_count", "")?;
    (used + NEEDED > allowed).then_some(Limit {
        name: "mappings (vm.max_map_count)",
        used,
        allowed,
        unit: "",
        help: "raise sysctl vm.max_map_count",
    })
}

fn committed(shape: Shape) -> Option<Limit> {
    const NEVER_OVERCOMMIT: u64 = 2;
    let allowed = if proc::number(c"/proc/sys/vm/overcommit_memory", "")? == NEVER_OVERCOMMIT {
        proc::number(c"/proc/meminfo", "CommitLimit:")?
    } else {
        // One mapping may then be as large as all memory, whatever else there is.
        let total = proc::number(c"/proc/meminfo", "MemTotal:")?
            + proc::number(c"/proc/meminfo", "SwapTotal:")?;
        if (shape.size as u64) / 1024 <= total {
            return None;
        }
        total
    };
    Some(Limit {
        name: "committed memory (vm.overcommit_memory)",
        used: proc::number(c"/proc/meminfo", "Committed_AS:")?,
        allowed,
        unit: " kB",
        help: "set sysctl vm.overcommit_memory=1, or ask for a smaller stack",
    })
}

fn threads() -> Option<Limit> {
    let kernel = [
        (
            "threads, this process alone (kernel.threads-max)",
            proc::number(c"/proc/sys/kernel/threads-max", ""),
        ),
        (
            "threads, this process alone (kernel.pid_max)",
            proc::number(c"/proc/sys/kernel/pid_max", ""),
        ),
    ];
    let mut limit = Limit {
        name: "threads, this process alone (RLIMIT_NPROC)",
        used: sys::count_threads()?,
        allowed: sys::soft_limit(libc::RLIMIT_NPROC),
        unit: "",
        help: "raise ulimit -u, or the pids limit of the control group",
    };
    for (name, allowed) in kernel {
        if let Some(allowed) = allowed.filter(|&allowed| allowed < limit.allowed) {
            limit.name = name;
            limit.allowed = allowed;
            limit.help = "raise that sysctl, or the pids limit of the control group";
        }
    }
    Some(limit)
}

//! What the kernel hands to a process: the auxiliary vector and the vDSO.
//!
//! Invariant: nothing here is reached by a name that a program or another library can define anew.
//! libc's `getauxval` and `clock_gettime` can be, and theirs may allocate, while the heap asks
//! under its own locks.

use crate::arch;
use core::ffi::{CStr, c_int};
use core::num::NonZeroUsize;
use once_cell::race::OnceNonZeroUsize;

unsafe extern "C" {
    /// Where the kernel put argument count, arguments, environment and auxiliary vector, one after
    /// the other, each of the latter ended by a zero. Kept by ld.so.
    static __libc_stack_end: *const usize;
}

/// The value of `kind` (`getauxval(3)`), or zero.
pub fn value(kind: u64) -> usize {
    let mut at = vector();
    // SAFETY: the kernel's pairs stay where they are, and one of kind zero ends them.
    unsafe {
        while *at != 0 {
            if *at == kind as usize {
                return *at.add(1);
            }
            at = at.add(2);
        }
    }
    0
}

/// Where the vector starts. Looked for before `main`: what lies below it is the program's then.
fn vector() -> *const usize {
    static FOUND: OnceNonZeroUsize = OnceNonZeroUsize::new();
    let found = FOUND.get_or_init(|| {
        // SAFETY: the arrays are where ld.so says, and end as said above.
        let at = unsafe {
            let mut at = __libc_stack_end.add(1 + *__libc_stack_end + 1);
            while *at != 0 {
                at = at.add(1);
            }
            at.add(1)
        };
        NonZeroUsize::new(at as usize).unwrap_or(NonZeroUsize::MIN)
    });
    found.get() as *const usize
}

/// `clock_gettime(2)`, without a system call where the kernel offers it.
pub type ClockGettime = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;

/// The vDSO's `clock_gettime`, if there is one.
pub fn clock_gettime() -> Option<ClockGettime> {
    /// Stands for "there is none".
    const NONE: NonZeroUsize = NonZeroUsize::MIN;
    static FOUND: OnceNonZeroUsize = OnceNonZeroUsize::new();
    let found = FOUND.get_or_init(|| {
        let function = symbol(value(libc::AT_SYSINFO_EHDR), arch::VDSO_CLOCK_GETTIME);
        function.and_then(NonZeroUsize::new).unwrap_or(NONE)
    });
    // SAFETY: the kernel's function of that name has this type.
    (found != NONE).then(|| unsafe { core::mem::transmute::<usize, ClockGettime>(found.get()) })
}

/// Address of a symbol of the ELF object loaded at `base`.
fn symbol(base: usize, name: &CStr) -> Option<usize> {
    if base == 0 {
        return None;
    }
    // SAFETY: the kernel maps the object with its headers, whole and valid, and never unmaps it.
    unsafe {
        let header = &*(base as *const libc::Elf64_Ehdr);
        let segments = core::slice::from_raw_parts(
            (base + header.e_phoff as usize) as *const libc::Elf64_Phdr,
            header.e_phnum as usize,
        );
        let load = segments.iter().find(|s| s.p_type == libc::PT_LOAD)?;
        let offset = (base + load.p_offset as usize).wrapping_sub(load.p_vaddr as usize);
        let dynamic = segments.iter().find(|s| s.p_type == libc::PT_DYNAMIC)?;
        let entry = |wanted: usize| {
            let mut at = offset.wrapping_add(dynamic.p_vaddr as usize) as *const [usize; 2];
            while (*at)[0] != 0 {
                if (*at)[0] == wanted {
                    return Some(offset.wrapping_add((*at)[1]));
                }
                at = at.add(1);
            }
            None
        };
        let (strings, symbols) = (entry(DT_STRTAB)?, entry(DT_SYMTAB)?);
        let count = match entry(DT_HASH) {
            Some(hash) => *(hash as *const u32).add(1),
            None => count_by_gnu_hash(entry(DT_GNU_HASH)? as *const u32),
        };
        (0..count as usize)
            .map(|index| &*(symbols as *const libc::Elf64_Sym).add(index))
            .find(|s| {
                s.st_shndx != 0 && CStr::from_ptr((strings + s.st_name as usize) as _) == name
            })
            .map(|s| offset.wrapping_add(s.st_value as usize))
    }
}

const DT_HASH: usize = 4;
const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_GNU_HASH: usize = 0x6fff_fef5;

/// Number of symbols by the GNU hash table: the end of the chain that starts last.
///
/// # Safety
/// `table` must be such a table.
unsafe fn count_by_gnu_hash(table: *const u32) -> u32 {
    // SAFETY: header, filter words of eight bytes, buckets, and chains whose ends have bit zero set.
    unsafe {
        let (buckets, first, filter) = (*table, *table.add(1), *table.add(2));
        let bucket = table.add(4 + 2 * filter as usize);
        let chain = bucket.add(buckets as usize);
        let last = (0..buckets as usize)
            .map(|i| *bucket.add(i))
            .max()
            .unwrap_or(0);
        if last < first {
            return first;
        }
        let mut last = last;
        while *chain.add((last - first) as usize) & 1 == 0 {
            last += 1;
        }
        last + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_libcs() {
        for kind in [
            libc::AT_PAGESZ,
            libc::AT_RANDOM,
            libc::AT_SYSINFO_EHDR,
            libc::AT_PHDR,
        ] {
            // SAFETY: always allowed.
            assert_eq!(value(kind), unsafe { libc::getauxval(kind) } as usize);
        }
        assert_eq!(value(0x7777), 0);
    }

    #[test]
    fn the_kernels_clock_is_found_where_there_is_one() {
        let clock = clock_gettime();
        assert_eq!(clock.is_some(), value(libc::AT_SYSINFO_EHDR) != 0);
    }
}

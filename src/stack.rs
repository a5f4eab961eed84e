//! Policy of thread stacks: which sizes glibc would accept, refuse and report for the attributes
//! of a thread, and the stack of ours that looks the same to the program.
//!
//! Invariant: a program sees the sizes and errors of glibc's own stacks: the guard on top of the
//! size asked, static TLS and the thread's descriptor inside it.

pub mod cache;
pub mod peak;

use crate::align::{self, page_size};
use crate::mapping::{Locked, LockedCell, Mapping};
use crate::memlock;
use crate::sys::{self, Errno, Prot};
use crate::{arch, auxv};
use core::ffi::c_void;
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use libc::pthread_attr_t;
use once_cell::race::OnceNonZeroUsize;

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attr: *const pthread_attr_t, state: *mut i32) -> i32;
    fn pthread_attr_getstackaddr(attr: *const pthread_attr_t, addr: *mut *mut c_void) -> i32;
}

/// The memory of a stack. Two stacks of one shape are interchangeable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Bytes from the lowest usable one to the top: what glibc would report.
    pub size: usize,
    /// Bytes of guard below, a multiple of the page size.
    pub guard: usize,
}

/// Size of all static TLS with the thread's descriptor, and the alignment of its end.
#[derive(Clone, Copy)]
struct StaticTls {
    size: usize,
    align: usize,
}

/// What a thread asks for.
pub struct Wish {
    pub shape: Shape,
    /// The guard as `pthread_getattr_np` reports it.
    pub reported_guard: usize,
    pub detached: bool,
}

/// Whether the program brought its own stack.
///
/// # Safety
/// `attr` must be an initialised thread attribute.
pub unsafe fn given(attr: &pthread_attr_t) -> bool {
    let mut address = core::ptr::null_mut();
    // SAFETY: reads an initialised attribute.
    unsafe { pthread_attr_getstackaddr(attr, &raw mut address) };
    !address.is_null()
}

impl Wish {
    /// What the attribute asks for, or glibc's refusal (EINVAL).
    ///
    /// # Safety
    /// `attr` must be an initialised thread attribute.
    pub unsafe fn of(attr: &pthread_attr_t) -> Result<Self, Errno> {
        let (mut size, mut guard, mut state) = (0, 0, 0);
        // SAFETY: read an initialised attribute; an unset size gives the default of the moment.
        unsafe {
            libc::pthread_attr_getstacksize(attr, &raw mut size);
            libc::pthread_attr_getguardsize(attr, &raw mut guard);
            pthread_attr_getdetachstate(attr, &raw mut state);
        }
        let page = page_size();
        let shape = shape(size, guard, static_tls(), page)?;
        let reported_guard = align::up(guard, page).unwrap_or(shape.guard);
        Ok(Self {
            shape,
            reported_guard,
            detached: state == libc::PTHREAD_CREATE_DETACHED,
        })
    }
}

/// glibc's arithmetic of a stack that it makes itself.
fn shape(size: usize, guard: usize, tls: StaticTls, page: usize) -> Result<Shape, Errno> {
    const INVALID: Errno = Errno(libc::EINVAL);
    let size = align::down(size, tls.align);
    let mut guard = align::up(guard, page).ok_or(INVALID)?;
    if guard > 0 {
        guard = guard.max(arch::LEAST_GUARD);
    }
    size.checked_add(guard).ok_or(INVALID)?;
    let least = align::up(tls.size + arch::LEAST_ROOM, page).ok_or(INVALID)?;
    if size < least {
        Err(INVALID)
    } else {
        Ok(Shape { size, guard })
    }
}

/// Asked of ld.so once: static TLS is laid out before any thread exists.
fn static_tls() -> StaticTls {
    static SIZE: OnceNonZeroUsize = OnceNonZeroUsize::new();
    static ALIGN: OnceNonZeroUsize = OnceNonZeroUsize::new();
    if let (Some(size), Some(align)) = (SIZE.get(), ALIGN.get()) {
        return StaticTls {
            size: size.get(),
            align: align.get(),
        };
    }
    let found = ask_static_tls();
    let keep = |value: usize| NonZeroUsize::new(value).unwrap_or(NonZeroUsize::MIN);
    StaticTls {
        size: SIZE.get_or_init(|| keep(found.size)).get(),
        align: ALIGN.get_or_init(|| keep(found.align)).get(),
    }
}

/// Alignment of the top of a stack that libc wants for the thread's descriptor.
pub fn tls_alignment() -> usize {
    static_tls().align
}

fn ask_static_tls() -> StaticTls {
    /// Alignment of a thread's control block.
    const LEAST_ALIGN: usize = 64;
    // SAFETY: both names are NUL-terminated, and the functions have had these types in every
    // glibc that has them.
    let (info, least) = unsafe {
        let info = libc::dlsym(libc::RTLD_DEFAULT, c"_dl_get_tls_static_info".as_ptr());
        let least = libc::dlsym(libc::RTLD_DEFAULT, c"__pthread_get_minstack".as_ptr());
        (
            core::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn(*mut usize, *mut usize)>>(
                info,
            ),
            core::mem::transmute::<
                *mut c_void,
                Option<unsafe extern "C" fn(*const pthread_attr_t) -> usize>,
            >(least),
        )
    };
    let (mut size, mut align) = (0, 0);
    if let Some(info) = info {
        // SAFETY: stores two words.
        unsafe { info(&raw mut size, &raw mut align) };
    } else {
        align = largest_tls_alignment();
        if let Some(least) = least {
            // SAFETY: the attribute is not looked at; the result is page + TLS + 16 KiB.
            let sum = unsafe { least(core::ptr::null()) };
            size = sum.saturating_sub(page_size() + 16384);
        }
    }
    let align = align.max(LEAST_ALIGN);
    // Not found at all: the check is then left to libc, which makes it without rounding.
    StaticTls {
        size: align::up(size, align).unwrap_or(size),
        align,
    }
}

fn largest_tls_alignment() -> usize {
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        largest: *mut c_void,
    ) -> i32 {
        // SAFETY: the loader passes a valid object, and `largest` is the caller's word.
        unsafe {
            for header in headers(&*info) {
                if header.p_type == libc::PT_TLS {
                    let largest = largest.cast::<usize>();
                    *largest = (*largest).max(header.p_align as usize);
                }
            }
        }
        0
    }
    let mut largest = 1usize;
    // SAFETY: the callback gets `largest` and uses it as a word.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut largest).cast()) };
    largest
}

/// # Safety
/// `info` must describe a loaded object.
unsafe fn headers(info: &libc::dl_phdr_info) -> &[libc::Elf64_Phdr] {
    // SAFETY: the loader keeps the program headers mapped.
    unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
}

static EXECUTABLE: AtomicBool = AtomicBool::new(false);

/// The rights that stacks have at the moment.
pub fn prot() -> Prot {
    if EXECUTABLE.load(Relaxed) {
        Prot::RWX
    } else {
        Prot::RW
    }
}

/// Looks at all loaded objects; true when stacks have to become executable from now on.
pub fn became_executable() -> bool {
    struct Look {
        main: bool,
        wanted: bool,
    }
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> i32 {
        // SAFETY: the loader passes a valid object; `data` is the caller's `Look`.
        let (info, data) = unsafe { (&*info, &mut *data.cast::<Look>()) };
        let main = core::mem::replace(&mut data.main, false);
        // SAFETY: the object is loaded.
        let headers = unsafe { headers(info) };
        let stack = headers
            .iter()
            .find(|header| header.p_type == libc::PT_GNU_STACK);
        // The kernel's own object has no such header and was not loaded by ld.so.
        let vdso = auxv::value(libc::AT_SYSINFO_EHDR);
        let kernels = !main && vdso != 0 && info.dlpi_addr as usize == vdso;
        data.wanted |= match stack {
            Some(stack) => stack.p_flags & libc::PF_X != 0,
            None => arch::STACK_EXECUTABLE_BY_DEFAULT && !kernels,
        };
        i32::from(data.wanted)
    }
    if EXECUTABLE.load(Relaxed) {
        return false;
    }
    let mut data = Look {
        main: true,
        wanted: false,
    };
    // SAFETY: the callback gets `data` and uses it as what it is.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut data).cast()) };
    data.wanted && !EXECUTABLE.swap(true, Relaxed)
}

/// How much of a stack is locked in a locked process.
pub static LOCKED: LockedCell = LockedCell::new();

/// A stack of ours; unmapped when dropped.
pub struct Stack {
    mapping: Mapping,
    /// What of it is locked, if it was mapped in a locked process.
    locked: Option<Locked>,
    /// What is locked must be in memory when a thread starts.
    populated: bool,
    shape: Shape,
    prot: Prot,
    era: u32,
}

impl Stack {
    pub fn map(shape: Shape) -> Result<Self, Errno> {
        let open = align::up(shape.size, page_size()).ok_or(Errno(libc::ENOMEM))?;
        let prot = prot();
        let locked = LOCKED.get();
        let mapping = Mapping::new(shape.guard, open, prot, locked)?;
        // Read after the mapping, which may have found out that the era changed.
        Ok(Self {
            mapping,
            locked: memlock::future().then_some(locked),
            populated: memlock::future() && !memlock::on_fault() && locked != Locked::OnFault,
            shape,
            prot,
            era: memlock::era(),
        })
    }

    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Lowest usable byte.
    pub fn low(&self) -> usize {
        self.mapping.base() + self.shape.guard
    }

    /// The end that glibc is told: just above the thread's descriptor.
    pub fn top(&self) -> usize {
        self.low() + self.shape.size
    }

    /// Bytes of address space.
    pub fn len(&self) -> usize {
        self.mapping.len()
    }

    /// Bytes that count when it is idle: the address space, or what is charged of a locked one.
    pub fn weight(&self) -> usize {
        match self.locked {
            Some(locked) => self.open() - locked.spared(self.open()),
            None => self.len(),
        }
    }

    /// Bytes above the guard.
    fn open(&self) -> usize {
        self.len() - self.shape.guard
    }

    /// Whether what is locked must be in memory when a thread starts: it is not given back lightly.
    pub fn is_populated(&self) -> bool {
        self.populated
    }

    /// Whether its residence and rights are those of a stack mapped now.
    pub fn is_current(&self) -> bool {
        self.era == memlock::era() && self.prot == prot()
    }

    /// Where the pages end that a thread can spare which is over or back in its first frame: well
    /// below static TLS and that frame. The lowest usable byte where this is not known.
    fn spare_end(&self) -> usize {
        const USED_BY_MOST: usize = 24 << 10;
        let tls = static_tls();
        // Static TLS that is not known has next to no size.
        if tls.size < tls.align {
            return self.low();
        }
        let end = self.top().saturating_sub(tls.size + USED_BY_MOST);
        align::down(end, page_size()).max(self.low())
    }

    /// Where the pages end that are given back whenever a thread ends.
    fn deep_end(&self) -> usize {
        /// With less there is little to gain by a system call at each end of a thread.
        const SMALL: usize = 64 << 10;
        if self.shape.size <= SMALL {
            return self.low();
        }
        match self.locked {
            // What is to be in memory stays there.
            Some(locked) if self.populated => {
                let spared = self.low() + locked.spared(self.open());
                self.spare_end().min(spared)
            }
            _ => self.spare_end(),
        }
    }

    /// Bytes of pages that it may keep without its deep ones.
    pub fn shallow_bytes(&self) -> usize {
        self.mapping.base() + self.len() - self.deep_end()
    }

    /// Gives back the pages that a thread may miss at its start; false where the kernel refuses,
    /// which it does for what the program itself locked.
    ///
    /// # Safety
    /// The thread on the stack must be over, or back in the frame in which it started.
    pub unsafe fn drop_deep_pages(&self) -> bool {
        // SAFETY: by the caller's word.
        unsafe { self.drop_pages_to(self.deep_end()) }
    }

    /// Gives back those too that are to be in memory when a thread starts, so that none can start
    /// here again; false where the kernel refuses.
    ///
    /// # Safety
    /// As for [`Self::drop_deep_pages`].
    pub unsafe fn drain(&self) -> bool {
        // SAFETY: by the caller's word.
        unsafe { self.drop_pages_to(self.spare_end()) }
    }

    /// # Safety
    /// What lies below `end` must be dead.
    unsafe fn drop_pages_to(&self, end: usize) -> bool {
        /// The advice for what is locked, which stays locked and charged. Since Linux 5.18.
        const MADV_DONTNEED_LOCKED: i32 = 24;
        let (low, len) = (self.low(), end - self.low());
        if len == 0 {
            return true;
        }
        // SAFETY: by the caller's word.
        unsafe {
            match sys::advise(low, len, libc::MADV_DONTNEED) {
                Err(Errno(libc::EINVAL)) if self.locked.is_some() => {
                    sys::advise(low, len, MADV_DONTNEED_LOCKED).is_ok()
                }
                done => done.is_ok(),
            }
        }
    }

    /// Takes the lock off what is not to be locked, after the program locked all that is mapped.
    /// What that populated stays in memory.
    pub fn settle_lock(&self) {
        let locked = LOCKED.get();
        let unlocked = self.shape.guard + locked.spared(self.open());
        // Refused only where locking was refused, too.
        if unlocked > 0 {
            let _ = sys::unlock(self.mapping.base(), unlocked);
        }
        if locked == Locked::OnFault {
            let _ = sys::lock_on_fault(self.low(), self.open());
        }
    }

    /// Gives the stack the rights that stacks have at the moment.
    pub fn update_rights(&mut self) {
        let prot = prot();
        if self.prot != prot {
            // SAFETY: only adds a right to a range that is ours.
            if unsafe { sys::protect(self.low(), self.open(), prot) }.is_ok() {
                self.prot = prot;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TLS: StaticTls = StaticTls {
        size: 4224,
        align: 64,
    };
    const PAGE: usize = 4096;
    const INVALID: Result<Shape, Errno> = Err(Errno(libc::EINVAL));

    #[test]
    fn sizes_are_cut_to_the_alignment_of_tls_and_guards_rounded_to_pages() {
        let got = |size, guard| shape(size, guard, TLS, PAGE);
        assert_eq!(
            got(65536, 0),
            Ok(Shape {
                size: 65536,
                guard: 0
            })
        );
        assert_eq!(
            got(65599, 0),
            Ok(Shape {
                size: 65536,
                guard: 0
            })
        );
        assert_eq!(
            got(65600, 0),
            Ok(Shape {
                size: 65600,
                guard: 0
            })
        );
        let guard = align::up(arch::LEAST_GUARD, PAGE).unwrap();
        assert_eq!(
            got(100_000, 1),
            Ok(Shape {
                size: 99_968,
                guard
            })
        );
        assert_eq!(
            got(65536, 100_000),
            Ok(Shape {
                size: 65536,
                guard: 102_400
            })
        );
    }

    #[test]
    fn what_overflows_is_invalid() {
        assert_eq!(shape(65536, usize::MAX, TLS, PAGE), INVALID);
        assert_eq!(shape(65536, 0usize.wrapping_sub(4096), TLS, PAGE), INVALID);
        assert_eq!(shape(usize::MAX, 4096, TLS, PAGE), INVALID);
        assert!(shape(65536, 0usize.wrapping_sub(70_000), TLS, PAGE).is_ok());
        assert!(shape(usize::MAX, 0, TLS, PAGE).is_ok());
    }

    #[test]
    fn the_least_size_is_the_one_measured_on_glibc() {
        for (tls, least) in [(304_192, 307_200), (104_192, 106_496), (19_200, 24_576)] {
            let tls = StaticTls {
                size: tls,
                align: 64,
            };
            assert_eq!(shape(least - 1, PAGE, tls, PAGE), INVALID);
            assert!(shape(least, PAGE, tls, PAGE).is_ok());
        }
    }

    #[test]
    fn a_stack_reaches_from_its_guard_to_its_top() {
        let stack = Stack::map(Shape {
            size: 99_968,
            guard: 2 * page_size(),
        })
        .unwrap();
        assert_eq!(stack.low() % page_size(), 0);
        assert_eq!(stack.top() - stack.low(), 99_968);
        assert!(stack.len() >= 99_968 + 2 * page_size());
        assert!(stack.is_current());
    }
}

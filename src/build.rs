//! Link flags of the shared library.
//!
//! `nodelete`: thread slots and fork handlers point into it for the life of the process.
//! `now` and `relro`: no lazy binding inside malloc, and no writable function pointers.

fn main() {
    println!("cargo:rerun-if-changed=src/build.rs");
    for flag in [
        "-Wl,-z,nodelete",
        "-Wl,-z,now",
        "-Wl,-z,relro",
        "-Wl,--no-undefined",
    ] {
        println!("cargo:rustc-cdylib-link-arg={flag}");
    }
}

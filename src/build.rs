//! Link flags of the shared library.
//!
//! `nodelete`: thread slots and fork handlers point into it for the life of the process.
//! `now` and `relro`: no lazy binding inside malloc, and no writable function pointers.
//! `Bsymbolic-functions`: an exported name means ours inside, also where the program has its own.
//! The unwinder that std refers to is linked in where the linker has it: its shared library costs
//! every process three mappings, 130 kB of address space and some start-up time.

use std::{env, path::Path, process::Command};

fn main() {
    println!("cargo:rerun-if-changed=src/build.rs");
    for flag in [
        "-Wl,-z,nodelete",
        "-Wl,-z,now",
        "-Wl,-z,relro",
        "-Wl,--no-undefined",
        "-Wl,--exclude-libs,ALL",
        "-Wl,-Bsymbolic-functions",
    ] {
        println!("cargo:rustc-cdylib-link-arg={flag}");
    }
    if let Some(folder) = unwinder() {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
    }
}

/// The folder of the linker's static unwinder.
fn unwinder() -> Option<String> {
    let linker = env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".into());
    let asked = Command::new(linker)
        .arg("-print-file-name=libgcc_eh.a")
        .output()
        .ok()?;
    let file = String::from_utf8(asked.stdout).ok()?;
    let file = Path::new(file.trim());
    // A compiler that does not have it prints the bare name.
    let folder = file
        .parent()
        .filter(|_| file.is_absolute() && file.exists())?;
    Some(folder.to_str()?.to_owned())
}

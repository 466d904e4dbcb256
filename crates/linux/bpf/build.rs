//! A static libelf of elfutils 0.189 or newer unpacks sections with zstd as well, of which libbpf-sys does not know.

use std::env;
use std::path::Path;

/// Folders of static libraries, for libbpf-sys too; `.cargo/config.toml` has those of common distributions.
const FOLDERS: &str = "LIBBPF_SYS_LIBRARY_PATH";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed={FOLDERS}");
    let folders = env::var(FOLDERS).unwrap_or_default();
    let found = folders.split(':').find_map(|folder| {
        let library = Path::new(folder).join("libelf.a");
        std::fs::read(library).ok().map(|bytes| (folder, bytes))
    });
    let Some((folder, library)) = found else {
        println!(
            "cargo:warning=there is no libelf.a in {folders}. Debian and Ubuntu: apt-get install libelf-dev \
             zlib1g-dev pkg-config; elsewhere name its folder in {FOLDERS}"
        );
        return;
    };
    let needle = b"ZSTD_decompress";
    if library.windows(needle.len()).any(|window| window == needle) {
        // The whole of it: it may come before libelf in the linker's order.
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-lib=static:+whole-archive,-bundle=zstd");
    }
}

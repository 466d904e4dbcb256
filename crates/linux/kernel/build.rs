//! Embeds `kernel/` (configuration fragment, edits, our own C sources), so that the binary builds a kernel
//! from an empty folder. A file added there is picked up without touching Rust code.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let kernel =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../../kernel");
    let kernel = kernel.canonicalize()?;
    println!("cargo::rerun-if-changed={}", kernel.display());

    let mut code = String::new();
    for (name, file, about) in [
        ("FRAGMENT", "config.fragment", "Kernel options over `allnoconfig`."),
        ("EDITS", "edits.toml", "Edits to the kernel's own sources."),
        ("PARTS", "parts.toml", "Options and added sources of some versions only."),
    ] {
        let path = kernel.join(file);
        println!("cargo::rerun-if-changed={}", path.display());
        writeln!(code, "/// {about}\npub const {name}: &str = include_str!({path:?});").expect("to a String");
    }
    for (name, folder, about) in [
        ("QDISC", "qdisc", "Sources added to net/sched: name, text."),
        ("CONGESTION", "cc", "Sources added to net/ipv4: name, text."),
    ] {
        let folder = kernel.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        writeln!(code, "/// {about}\npub const {name}: &[(&str, &str)] = &[").expect("to a String");
        for path in c_files(&folder)? {
            println!("cargo::rerun-if-changed={}", path.display());
            let file = path.file_name().expect("a listed file has a name");
            writeln!(code, "    ({file:?}, include_str!({path:?})),").expect("to a String");
        }
        code.push_str("];\n");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("assets.rs"), code)
}

/// The `.c` files of a folder in order of name; none if there is no such folder.
fn c_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = entries.map(|e| e.map(|e| e.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|f| f.extension().is_some_and(|e| e == "c"));
    files.sort();
    Ok(files)
}

//! Boots one guest and prints what it cost: `guest IMAGE INIT WRITABLE [ARGUMENT...]`.
#![expect(clippy::print_stdout, reason = "an example is a program")]

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use wirespeed_kernel::{Boot, boot};
use wirespeed_units::Bytes;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [image, init, writable, arguments @ ..] = words.as_slice() else {
        return Err("usage: guest IMAGE INIT WRITABLE [ARGUMENT...]".into());
    };
    let guest = Boot {
        image: image.into(),
        init: init.into(),
        arguments: arguments.to_vec(),
        parameters: Vec::new(),
        writable: writable.into(),
        memory: Bytes::mib(512),
        seed: 1,
        console: Path::new(writable).join("console.log"),
        stall_limit: Duration::from_secs(30),
    };
    let exit = boot(&guest, &AtomicBool::new(false), &|| ())?;
    println!(
        "wall {:?}, cpu {:?}, peak resident {}; {}",
        exit.wall, exit.cpu, exit.peak_rss, exit.confinement
    );
    Ok(())
}

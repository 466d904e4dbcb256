//! Builds the kernel as `wirespeed kernel build` does: `build [CACHE [SOURCE [CC.c...]]]`.
#![expect(clippy::print_stdout, reason = "an example is a program")]

use std::sync::atomic::AtomicBool;
use wirespeed_kernel::{BuildOptions, Progress, build, find};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let cache = words.next().filter(|w| !w.is_empty()).map(Into::into);
    let source = words.next().filter(|w| !w.is_empty()).map(Into::into);
    let options =
        BuildOptions { cache, source, extra_cc: words.map(Into::into).collect(), ..Default::default() };
    let mut last = String::new();
    let mut show = |p: Progress| {
        let percent = p.done.checked_mul(100).and_then(|d| d.checked_div(p.total)).unwrap_or(0);
        let now = format!("{} {percent} %", p.phase.name());
        if now != last {
            println!("{now} {}", p.line);
            last = now;
        }
    };
    let start = std::time::Instant::now();
    let kernel = build(&options, &mut show, &AtomicBool::new(false))?;
    println!("{:?} in {:?}", kernel.image, start.elapsed());
    assert_eq!(find(&options)?, kernel);
    println!(
        "{} {}\nbuilt with {}\n{}",
        kernel.release,
        kernel.version,
        kernel.built_with,
        kernel.edits.join("\n")
    );
    println!("added {}", kernel.added.join(", "));
    Ok(())
}

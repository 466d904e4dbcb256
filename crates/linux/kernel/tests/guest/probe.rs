//! PID 1 of test guests. Its first argument says what it does; what it found goes to `probe` in the writable
//! folder, one `name value` a line.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use wirespeed_kernel::guest;

fn main() {
    let folder = match guest::enter() {
        Ok(folder) => folder,
        Err(error) => {
            let _ = fs::write("/dev/console", format!("guest_probe: {error}\n"));
            guest::power_off(1)
        }
    };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let code = match arguments.first().map(String::as_str) {
        Some("look") => look(&folder, &arguments).map_or_else(|e| e.raw_os_error().unwrap_or(2), |()| 0),
        Some("code") => arguments[1].parse().unwrap_or(2),
        Some("end") => return,
        Some("spin") => spin(&folder),
        Some("fill") => fill(&folder),
        Some("eat") => eat(),
        _ => 3,
    };
    guest::power_off(code)
}

/// Everything a run could depend on, and every place it should not be able to write to.
fn look(folder: &Path, arguments: &[String]) -> io::Result<()> {
    let mut out = String::new();
    let mut say = |name: &str, value: String| writeln!(out, "{name} {value}").map_err(io::Error::other);
    say("arguments", format!("{:?}", &arguments[1..]))?;
    let mut random = [0; 32];
    io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut random)?;
    say("random", format!("{random:x?}"))?;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_err(io::Error::other)?;
    say("clock_ns", since.as_nanos().to_string())?;
    let start = Instant::now();
    std::thread::sleep(Duration::from_secs(3600));
    say("slept_ns", start.elapsed().as_nanos().to_string())?;
    let (on_stack, on_heap) = (0u8, Box::new(0u8));
    say("addresses", format!("{:p} {:p} {:p}", &raw const on_stack, on_heap, main as fn()))?;
    say("maps", fs::read_to_string("/proc/self/stat")?.trim().to_owned())?;
    say("uptime", fs::read_to_string("/proc/uptime")?.trim().to_owned())?;
    say("memory", fs::read_to_string("/proc/meminfo")?.lines().take(2).collect::<Vec<_>>().join(" "))?;
    say("version", fs::read_to_string("/proc/version")?.trim().to_owned())?;
    say("slab", fs::read_to_string("/proc/slabinfo").unwrap_or_default().replace('\n', ";"))?;
    let controls = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    say("controls", controls.trim().to_owned())?;
    for place in ["/", "/tmp", "/etc", "/var/tmp", "/root", "/home"] {
        let written = fs::write(PathBuf::from(place).join("wirespeed-probe"), "escaped");
        say("write", format!("{place} {}", written.is_ok()))?;
    }
    say("write", format!("/dev/shm {}", fs::write("/dev/shm/x", "x").is_ok()))?;
    // Straight at the host, past the read-only mount, as only root of the guest can try.
    let remount = {
        let nothing = std::ptr::null();
        // SAFETY: NUL-terminated constants; absent source and data are allowed.
        unsafe {
            libc::mount(nothing, c"/".as_ptr(), nothing, libc::MS_REMOUNT, nothing.cast()) == 0
                && fs::write("/var/tmp/wirespeed-probe-remount", "escaped").is_ok()
        }
    };
    say("write", format!("remounted {remount}"))?;
    say("null", fs::read_to_string("/dev/null").map(|s| s.len().to_string())?)?;
    fs::create_dir(folder.join("sub"))?;
    fs::write(folder.join("sub/file"), "x".repeat(100_000))?;
    fs::rename(folder.join("sub/file"), folder.join("sub/renamed"))?;
    fs::write(folder.join("probe"), out)
}

/// A kernel or program that is busy and gets nowhere.
fn spin(folder: &Path) -> ! {
    let _ = fs::write(folder.join("probe"), "about to spin");
    loop {
        std::hint::spin_loop();
    }
}

fn fill(folder: &Path) -> i32 {
    loop {
        let mut file = match fs::File::options().append(true).create(true).open(folder.join("filler")) {
            Ok(file) => file,
            Err(error) => return error.raw_os_error().unwrap_or(2),
        };
        if let Err(error) = io::Write::write_all(&mut file, &[1; 1 << 16]) {
            return error.raw_os_error().unwrap_or(2);
        }
    }
}

/// Uses memory until there is none.
fn eat() -> i32 {
    let mut eaten = Vec::new();
    loop {
        eaten.push(vec![1u8; 1 << 20]);
        std::hint::black_box(&eaten);
    }
}

//! The C sources of the controls compiled for this machine, as window rules of crate `congestion`: the engine around
//! them is the same as that of the Rust implementations, so that only the rules are compared.

use std::ffi::{CString, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use wirespeed_congestion::{
    AckSample, CongestionControl, CongestionEvent, LossBased, Phase, PhaseChange, Restart, Sent, Setup,
    SlowStart, Standard, Undo, Window, WindowRule,
};
use wirespeed_units::SimTime;

/// `TCP_INFINITE_SSTHRESH`.
const NO_SSTHRESH: u32 = 0x7fff_ffff;
/// Where sequence numbers begin: they soon wrap.
const FIRST_BYTE: u32 = 0xfff0_0000;

/// `struct sock` of `native.h`.
#[repr(C)]
#[derive(Debug, Default)]
struct Socket {
    snd_cwnd: u32,
    snd_cwnd_cnt: u32,
    snd_cwnd_clamp: u32,
    snd_ssthresh: u32,
    snd_una: u32,
    snd_nxt: u32,
    srtt_us: u32,
    max_packets_out: u32,
    mss_cache: u32,
    prior_cwnd: u32,
    phase: u32,
    limited: u32,
    tcp_mstamp: u64,
    private: [u64; 13],
}

#[repr(C)]
struct Sample {
    pkts_acked: u32,
    rtt_us: i32,
}

type Hook<R> = unsafe extern "C" fn(*mut Socket) -> R;

/// `struct tcp_congestion_ops` of `native.h`.
#[repr(C)]
#[derive(Debug)]
pub struct Operations {
    ssthresh: Hook<u32>,
    cong_avoid: unsafe extern "C" fn(*mut Socket, u32, u32),
    set_state: Option<unsafe extern "C" fn(*mut Socket, u8)>,
    cwnd_event: Option<unsafe extern "C" fn(*mut Socket, u32)>,
    pkts_acked: Option<unsafe extern "C" fn(*mut Socket, *const Sample)>,
    undo_cwnd: Hook<u32>,
    init: Option<Hook<()>>,
    in_ack_event: Option<unsafe extern "C" fn(*mut Socket, u32)>,
    cwnd_event_tx_start: Option<Hook<()>>,
}

/// The C sources in one shared object.
pub struct Library {
    handle: *mut c_void,
}

// SAFETY: dlsym may be called from any thread, and nothing in the library has state of its own.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// Compiled and loaded once.
pub fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(Library::compile)
}

impl Library {
    fn compile() -> Library {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let sources = here.join("../../../bpf");
        let folder = tempfile::tempdir().unwrap();
        let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let compiler = cc::Build::new()
            .target(&target)
            .host(&target)
            .opt_level(2)
            .out_dir(folder.path())
            .cargo_metadata(false)
            .get_compiler();
        let mut command: Command = compiler.to_command();
        let object = folder.path().join("controls.so");
        command.args(["-shared", "-fPIC", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]);
        // Undefined behaviour ends the test with its place.
        command.args(["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]);
        command.arg("-I").arg(here.join("tests/native")).arg("-I").arg(&sources).arg("-o").arg(&object);
        command.args(["-x", "c"]).arg(here.join("tests/native/wide.c"));
        let mut controls: Vec<PathBuf> =
            std::fs::read_dir(&sources).unwrap().map(|entry| entry.unwrap().path()).collect();
        controls.retain(|path| path.to_string_lossy().ends_with(".bpf.c") && !path.ends_with("drops.bpf.c"));
        command.args(&controls);
        let output = command.output().expect("a C compiler is needed, as for building wirespeed itself");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let path = CString::new(object.to_str().unwrap()).unwrap();
        // SAFETY: the path is a string, and the object has no initialisers.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        assert!(!handle.is_null(), "{} cannot be loaded", object.display());
        Library { handle }
    }

    fn symbol(&self, name: &str) -> *const c_void {
        let name_ = CString::new(name).unwrap();
        // SAFETY: the handle is open for good.
        let found = unsafe { libc::dlsym(self.handle, name_.as_ptr()) };
        assert!(!found.is_null(), "{name} is not in the sources");
        found
    }

    /// A control's hooks.
    pub fn operations(&self, name: &str) -> &'static Operations {
        // SAFETY: the symbol is a constant of that type (native.h), and the library stays loaded.
        unsafe { &*self.symbol(&format!("ws_{name}")).cast() }
    }

    /// `mul_div` of wide.h.
    pub fn mul_div(&self, a: u32, b: u64, c: u64) -> u64 {
        // SAFETY: the function has this signature (wide.c).
        let function: unsafe extern "C" fn(u32, u64, u64) -> u64 =
            unsafe { std::mem::transmute(self.symbol("native_mul_div")) };
        // SAFETY: it takes any numbers.
        unsafe { function(a, b, c) }
    }

    /// `cube_root` of wide.h.
    pub fn cube_root(&self, a: u64, b: u32) -> u32 {
        // SAFETY: the function has this signature (wide.c).
        let function: unsafe extern "C" fn(u64, u32) -> u32 =
            unsafe { std::mem::transmute(self.symbol("native_cube_root")) };
        // SAFETY: it takes any numbers.
        unsafe { function(a, b) }
    }
}

/// A control in C as a rule.
#[derive(Debug)]
struct Native {
    operations: &'static Operations,
    /// How often sending has started.
    starts: u32,
    socket: Box<Socket>,
}

/// The control in C within the engine of the Rust implementations.
pub fn build(name: &str, setup: &Setup) -> Box<dyn CongestionControl> {
    let mut window = setup.window();
    let mut native = Native { operations: library().operations(name), starts: 0, socket: Box::default() };
    native.socket.srtt_us = setup.handshake_rtt.map_or(0, |rtt| 8 * (rtt.picoseconds() / 1_000_000) as u32);
    native.socket.snd_una = FIRST_BYTE;
    native.socket.snd_nxt = FIRST_BYTE;
    native.at(setup.now);
    if let Some(init) = native.operations.init {
        // SAFETY: the socket is ours, and the hook has this signature.
        native.call(&mut window, |socket| unsafe { init(socket) });
    }
    Box::new(LossBased::new(window, Standard, native))
}

impl Native {
    fn at(&mut self, now: SimTime) {
        self.socket.tcp_mstamp = (now.picoseconds() / 1_000_000) as u64;
    }

    /// Calls a hook on this window and takes over what it made of it.
    fn call<R>(&mut self, window: &mut Window, hook: impl FnOnce(*mut Socket) -> R) -> R {
        self.give(window);
        let result = hook(&raw mut *self.socket);
        let Socket { snd_cwnd, snd_cwnd_cnt, snd_ssthresh, .. } = *self.socket;
        window.cwnd = u64::from(snd_cwnd);
        window.count = u64::from(snd_cwnd_cnt);
        window.ssthresh = if snd_ssthresh == NO_SSTHRESH { u64::MAX } else { u64::from(snd_ssthresh) };
        result
    }

    /// Shows a hook this window, which it leaves as it is.
    fn give(&mut self, window: &Window) {
        let small = |number: u64| u32::try_from(number).expect("the kernel counts packets in 32 bits");
        self.socket.snd_cwnd = small(window.cwnd);
        self.socket.snd_cwnd_cnt = small(window.count);
        self.socket.snd_cwnd_clamp = u32::MAX;
        self.socket.snd_ssthresh =
            if window.ssthresh == u64::MAX { NO_SSTHRESH } else { small(window.ssthresh) };
        self.socket.mss_cache = small(window.mss());
    }

    fn next(&mut self, snd_nxt: u64) {
        self.socket.snd_nxt = FIRST_BYTE.wrapping_add(snd_nxt as u32);
    }

    fn ack(&mut self, ack: &AckSample) {
        self.at(ack.now);
        self.next(ack.snd_nxt);
        self.socket.snd_una = FIRST_BYTE.wrapping_add(ack.snd_una as u32);
        self.socket.limited = ack.cwnd_limited.into();
        if let Some(srtt) = ack.srtt {
            self.socket.srtt_us = 8 * (srtt.picoseconds() / 1_000_000) as u32;
        }
    }
}

const WINDOW_RESTART: u32 = 1;

impl WindowRule for Native {
    fn measure(&mut self, ack: &AckSample, before: Phase, window: &mut Window) {
        self.ack(ack);
        self.socket.phase = before as u32;
        let rtt_us = ack.rtt.map_or(-1, |rtt| (rtt.picoseconds() / 1_000_000) as i32);
        let sample = Sample { pkts_acked: ack.newly_acked.get() as u32, rtt_us };
        if let Some(hook) = self.operations.pkts_acked {
            // SAFETY: the socket is ours, and the hook has this signature.
            self.call(window, |socket| unsafe { hook(socket, &raw const sample) });
        }
        // As kernels of today do it; older ones tell of the acknowledgement first.
        const SLOW_PATH: u32 = 1;
        if let Some(hook) = self.operations.in_ack_event {
            let flags = if ack.predicted { 0 } else { SLOW_PATH };
            // SAFETY: the socket is ours, and the hook has this signature.
            self.call(window, |socket| unsafe { hook(socket, flags) });
        }
    }

    fn grow(&mut self, ack: &AckSample, window: &mut Window, _slow_start: &mut dyn SlowStart) {
        self.ack(ack);
        self.socket.phase = ack.phase as u32;
        let (hook, una) = (self.operations.cong_avoid, self.socket.snd_una);
        let acked = ack.newly_delivered.get() as u32;
        // SAFETY: the socket is ours, and the hook has this signature.
        self.call(window, |socket| unsafe { hook(socket, una, acked) });
    }

    fn ssthresh(&mut self, event: &CongestionEvent, window: &Window) -> u64 {
        self.at(event.now);
        self.next(event.snd_nxt);
        let hook = self.operations.ssthresh;
        // SAFETY: the socket is ours, and the hook has this signature.
        u64::from(self.call(&mut window.clone(), |socket| unsafe { hook(socket) }))
    }

    fn on_timeout(&mut self, event: &CongestionEvent, window: &mut Window) {
        const TIMEOUT: u32 = 3;
        self.at(event.now);
        if let Some(hook) = self.operations.cwnd_event {
            // SAFETY: the socket is ours, and the hook has this signature.
            self.call(window, |socket| unsafe { hook(socket, TIMEOUT) });
        }
    }

    fn on_phase(&mut self, change: &PhaseChange, window: &mut Window) {
        self.at(change.now);
        self.next(change.snd_nxt);
        self.socket.phase = change.from as u32;
        if let Some(hook) = self.operations.set_state {
            // SAFETY: the socket is ours, and the hook has this signature.
            self.call(window, |socket| unsafe { hook(socket, change.to as u8) });
        }
        self.socket.phase = change.to as u32;
    }

    fn on_complete(&mut self, change: &PhaseChange, window: &mut Window) {
        const REDUCTION_COMPLETE: u32 = 2;
        self.at(change.now);
        if let Some(hook) = self.operations.cwnd_event {
            // SAFETY: the socket is ours, and the hook has this signature.
            self.call(window, |socket| unsafe { hook(socket, REDUCTION_COMPLETE) });
        }
    }

    fn on_undo(&mut self, undo: &Undo) {
        self.at(undo.now);
        self.socket.prior_cwnd = self.socket.snd_cwnd + 1;
        // SAFETY: the socket is ours, and the hook has this signature.
        let restored = unsafe { (self.operations.undo_cwnd)(&raw mut *self.socket) };
        assert_eq!(restored, self.socket.prior_cwnd, "the window before the reduction is restored");
    }

    fn on_transmit_start(&mut self, sent: &Sent, window: &Window) {
        const TRANSMIT_START: u32 = 0;
        self.at(sent.now);
        self.next(sent.snd_nxt);
        self.starts += 1;
        // Kernels before 7.1 tell it as an event, those from then on by a hook of its own: by turns.
        let Operations { cwnd_event, cwnd_event_tx_start, .. } = *self.operations;
        if self.starts.is_multiple_of(2) {
            if let Some(hook) = cwnd_event {
                // SAFETY: the socket is ours, and the hook has this signature.
                self.call(&mut window.clone(), |socket| unsafe { hook(socket, TRANSMIT_START) });
            }
        } else if let Some(hook) = cwnd_event_tx_start {
            // SAFETY: the socket is ours, and the hook has this signature.
            self.call(&mut window.clone(), |socket| unsafe { hook(socket) });
        }
    }

    fn on_idle_restart(&mut self, restart: &Restart, window: &Window) {
        self.at(restart.now);
        self.next(restart.snd_nxt);
        if let Some(hook) = self.operations.cwnd_event {
            // SAFETY: the socket is ours, and the hook has this signature.
            self.call(&mut window.clone(), |socket| unsafe { hook(socket, WINDOW_RESTART) });
        }
    }
}

//! `wirespeed cc`: congestion controls of ours in this machine's kernel.

use crate::failure::Failure;
use crate::{interrupt, print};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};
use wirespeed_bpf::{
    Control, LoadError, Loaded, Naming, Owner, PREFIX, Reason, UnloadError, available, control, controls,
    registered, release, unload,
};
use wirespeed_units::Span;

pub const EXAMPLES: &str = "\
Examples:
  wirespeed cc status                                     # what is here, and what can be loaded
  sudo wirespeed cc load bic htcp                       # until Ctrl-C
  sudo wirespeed cc load bic --time \"10 min\"
  sudo wirespeed cc load bic -- iperf3 -c dtn2 -C bic   # while the command runs
  sudo wirespeed cc unload bic                          # left behind by a killed process";

/// Subcommands of `wirespeed cc`.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// List the algorithms that this kernel has, those that can be loaded, and why others cannot.
    #[command(alias = "list")]
    Status {
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Register congestion controls until Ctrl-C, or while a command runs or a time lasts.
    Load(Load),
    /// Unregister congestion controls left behind by a killed wirespeed process (kernels before 6.4).
    Unload {
        /// Names, as sockets choose them.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
}

/// Arguments of `wirespeed cc load`.
#[derive(Debug, Args)]
pub struct Load {
    /// Names; ws_NAME loads the one of wirespeed next to the kernel's NAME.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Unregister them after this long [default: at Ctrl-C].
    #[arg(long, alias = "for", value_name = "TIME")]
    time: Option<Span>,
    /// Command to run meanwhile; its exit code is passed on.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How often is looked whether it is time to end.
const LOOK: Duration = Duration::from_millis(20);
/// A command that was interrupted as well gets so long to end by itself.
const GRACE: Duration = Duration::from_secs(2);

/// Carries the command out.
pub fn run(action: &Action) -> Result<(), Failure> {
    match action {
        Action::Status { json } => print(&if *json { list_json() } else { list_text() }),
        Action::Load(arguments) => load(arguments),
        Action::Unload { names } => names.iter().try_for_each(|name| {
            unload(name).map_err(|error| match error {
                UnloadError::None { .. } => Failure::Usage {
                    message: error.to_string(),
                    remedy: "`wirespeed cc status` shows what is there".into(),
                },
                error => Failure::Environment(error.to_string()),
            })?;
            eprintln!("removed: {name}");
            Ok(())
        }),
    }
}

fn load(arguments: &Load) -> Result<(), Failure> {
    // Before anything is registered: whoever interrupts from here on gets it removed.
    let interrupted = interrupt::flag();
    let wanted = arguments.names.iter().map(|name| named(name)).collect::<Result<Vec<_>, _>>()?;
    let mut loaded = Vec::new();
    for (control, naming) in wanted {
        loaded.push(control.load_as(naming).map_err(|error| refused(control, error))?);
    }
    let names = loaded.iter().map(Loaded::name).collect::<Vec<_>>().join(" ");
    for stays in loaded.iter().filter(|loaded| !loaded.vanishes()) {
        let (release, name) = (release(), stays.name());
        eprintln!(
            "note: on Linux {release} {name} stays if this process is killed; `wirespeed cc unload {name}` then"
        );
    }
    let end =
        arguments.time.map(|time| Instant::now() + Duration::from_nanos(time.picoseconds() as u64 / 1_000));
    let mut child = match arguments.command.split_first() {
        None => {
            let until =
                arguments.time.map_or("until Ctrl-C".into(), |time| format!("for {time}, or until Ctrl-C"));
            eprintln!("registered: {names} ({until})");
            None
        }
        Some((program, rest)) => Some(start(program, rest)?),
    };
    let status = loop {
        if let Some(child) = &mut child
            && let Some(status) = child.try_wait().map_err(waiting)?
        {
            break Some(status);
        }
        let over = end.is_some_and(|end| Instant::now() >= end);
        if over || interrupted.load(SeqCst) {
            break child.as_mut().map(stop).transpose()?;
        }
        std::thread::sleep(LOOK);
    };
    for control in loaded {
        control.remove().map_err(|error| Failure::Environment(error.to_string()))?;
    }
    if child.is_none() {
        eprintln!("removed: {names}");
    }
    match status {
        Some(status) if !status.success() => Err(ended(&arguments.command[0], status)),
        _ => Ok(()),
    }
}

/// The control of that name, and the name under which it is asked for.
fn named(name: &str) -> Result<(&'static Control, Naming), Failure> {
    let found = match name.strip_prefix(PREFIX) {
        Some(own) => control(own).map(|control| (control, Naming::Beside)),
        None => control(name).map(|control| (control, Naming::Plain)),
    };
    found.ok_or_else(|| {
        let known = controls().iter().map(|control| control.name).collect::<Vec<_>>().join(", ");
        let here = available().iter().any(|other| other == name);
        Failure::Usage {
            message: format!("wirespeed has no congestion control `{name}` to load"),
            remedy: if here {
                "this kernel has it: it needs no loading".into()
            } else {
                format!("it has {known}")
            },
        }
    })
}

fn refused(control: &Control, error: LoadError) -> Failure {
    match &error {
        LoadError::Cannot { reason: Reason::NameTaken { owner, .. }, .. } => Failure::Usage {
            message: error.to_string(),
            remedy: match owner {
                Owner::Kernel | Owner::Module(_) => {
                    format!("to have ours beside it: wirespeed cc load {PREFIX}{}", control.name)
                }
                Owner::Process(_) => "use it while it is there, or end that process first".into(),
                Owner::Leftover(name) => format!("wirespeed cc unload {name}"),
            },
        },
        _ => Failure::Environment(error.to_string()),
    }
}

fn start(program: &OsString, rest: &[OsString]) -> Result<Child, Failure> {
    Command::new(program).args(rest).spawn().map_err(|error| Failure::Usage {
        message: format!("{} cannot be started: {error}", program.display()),
        remedy: "what follows `--` is a command with its arguments".into(),
    })
}

/// Ends a command. Ctrl-C has reached it as well, from the terminal; whatever else ends this program has not.
fn stop(child: &mut Child) -> Result<ExitStatus, Failure> {
    let patience = Instant::now() + GRACE;
    while interrupt::flag().load(SeqCst) && Instant::now() < patience {
        if let Some(status) = child.try_wait().map_err(waiting)? {
            return Ok(status);
        }
        std::thread::sleep(LOOK);
    }
    // SAFETY: a call without pointers; the child was not waited for yet, so the number is its own.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    child.wait().map_err(waiting)
}

fn waiting(error: std::io::Error) -> Failure {
    Failure::Environment(format!("the command cannot be waited for: {error}"))
}

fn ended(program: &OsString, status: ExitStatus) -> Failure {
    // As shells have it: 128 and the number of the signal.
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Failure::Command { command: program.display().to_string(), code: u8::try_from(code).unwrap_or(1) }
}

/// A control and what is to be said of it here.
struct Row {
    name: String,
    about: &'static str,
    reference: &'static str,
    needs: &'static str,
    state: &'static str,
    /// What the state leaves open: who holds it, why not.
    more: Option<String>,
}

fn rows() -> Vec<Row> {
    let here = available();
    let ours = registered().unwrap_or_default();
    let mut rows: Vec<Row> = controls()
        .iter()
        .map(|control| {
            let (state, more) = state(control.can_load());
            let Control { about, reference, needs, .. } = *control;
            Row { name: control.name.into(), about, reference, needs, state, more }
        })
        .collect();
    for name in here.into_iter().filter(|name| control(name).is_none()) {
        let found = ours.iter().find(|found| found.name == name);
        let base = name.strip_prefix(PREFIX).and_then(control);
        let (state, more) = match found {
            Some(found) => state(Err(Reason::NameTaken {
                name: name.clone(),
                owner: found.holder.map_or(Owner::Leftover(name.clone()), Owner::Process),
            })),
            None => ("in the kernel", None),
        };
        let about = base.map_or("", |control| control.about);
        rows.push(Row { name, about, reference: "", needs: "", state, more });
    }
    rows
}

fn state(can: Result<(), Reason>) -> (&'static str, Option<String>) {
    match can {
        Ok(()) => ("can be loaded", None),
        Err(Reason::NameTaken { owner, .. }) => match owner {
            Owner::Kernel => ("in the kernel", None),
            Owner::Module(name) => ("module", Some(format!("modprobe tcp_{name}"))),
            Owner::Process(pid) => ("loaded", Some(format!("by process {pid}"))),
            Owner::Leftover(name) => ("left behind", Some(format!("wirespeed cc unload {name}"))),
        },
        Err(reason) => ("cannot be loaded", Some(reason.to_string())),
    }
}

fn list_text() -> String {
    let rows = rows();
    // A reason is a sentence, and mostly the same for all: below, once.
    let is_reason = |row: &&Row| row.state == "cannot be loaded";
    let mut reasons: Vec<&str> =
        rows.iter().filter(is_reason).filter_map(|row| row.more.as_deref()).collect();
    reasons.dedup();
    let states: Vec<String> = rows
        .iter()
        .map(|row| match &row.more {
            Some(more) if !is_reason(&row) => format!("{}: {more}", row.state),
            _ => row.state.to_string(),
        })
        .collect();
    let first = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let second = states.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for (Row { name, about, .. }, state) in rows.iter().zip(&states) {
        text.push_str(format!("{name:first$}  {state:second$}  {about}").trim_end());
        text.push('\n');
    }
    for reason in reasons {
        text.push_str(&format!("\nnot here: {reason}\n"));
    }
    text
}

fn list_json() -> String {
    let row = |row: &Row| -> Value {
        json!({
            "name": row.name, "state": row.state, "more": row.more, "about": row.about,
            "reference": row.reference, "needs": row.needs,
        })
    };
    let rows: Vec<Value> = rows().iter().map(row).collect();
    let text = serde_json::to_string_pretty(&json!({ "kernel": release(), "controls": rows }));
    text.expect("a list is plain data") + "\n"
}

//! A command of this program on another host: the program is copied there, runs with input, and its output comes back.

use crate::TransportError;
use crate::remote::{End, Program, Remote};
use crate::sealed::SCHEME;
use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// The largest output that is read. The inventory of a host with 128 cores and 128 queues has less than 1 MiB.
const MOST_BYTES: u64 = 64 << 20;

/// The longest time for connecting and for the command. An upload has its own connection.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `program` on a host that ssh reaches, as its user, and returns its standard output. `words` are the arguments,
/// quoted for a shell.
///
/// # Errors
/// If ssh, the upload of the program or the program there fails; then with its message.
pub fn on_host(host: &str, program: &Program, words: &str, input: &[u8]) -> Result<String, TransportError> {
    if host.starts_with(SCHEME) {
        let reason = "commands are sent by ssh; give its ssh name";
        return Err(TransportError::host(host, reason, None));
    }
    match output(host, program, words, input)? {
        Ok(text) => return Ok(text),
        Err(end) if !end.not_there => return Err(TransportError::host(host, &end.reason, None)),
        Err(_) => Remote::install(host, program)?,
    }
    output(host, program, words, input)?.map_err(|end| {
        let reason = format!("the program was copied there and does not run: {}", end.reason);
        TransportError::host(host, &reason, None)
    })
}

/// The text that the program prints on the host, or the reason why it ended.
fn output(
    host: &str,
    program: &Program,
    words: &str,
    input: &[u8],
) -> Result<Result<String, End>, TransportError> {
    let failed = |reason: &str| TransportError::host(host, reason, None);
    let mut remote = Remote::run(host, program, words, Stdio::piped())?;
    let Some((mut to, from)) = remote.pipes() else { return Err(failed("it has no input or output")) };
    let input = input.to_vec();
    let (sender, receiver) = channel();
    thread::spawn(move || {
        // A program that ends early closes its input; its message has the reason.
        let _ = to.write_all(&input);
        drop(to);
        let mut text = Vec::new();
        let read = from.take(MOST_BYTES + 1).read_to_end(&mut text);
        // The receiver is gone if it timed out.
        let _ = sender.send(read.map(|_| text));
    });
    let text = match receiver.recv_timeout(PATIENCE) {
        Ok(Ok(text)) => text,
        Ok(Err(error)) => return Err(failed(&error.to_string())),
        Err(_) => return Err(failed(&format!("timed out after {} s", PATIENCE.as_secs()))),
    };
    if text.len() as u64 > MOST_BYTES {
        return Err(failed(&format!("its output is larger than {} MiB", MOST_BYTES >> 20)));
    }
    Ok(remote.wait().map(|()| String::from_utf8_lossy(&text).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_without_ssh_are_rejected_with_the_remedy() {
        let program = Program::new("/proc/self/exe".into());
        let error =
            on_host("tcp://192.0.2.1:5000", &program, "inventory --json", b"").unwrap_err().to_string();
        assert!(error.contains("give its ssh name"), "{error}");
    }
}

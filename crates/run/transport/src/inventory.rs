//! The inventory of another host: this program is copied there, reads the host, and prints it.

use crate::TransportError;
use crate::remote::{End, Program, Remote};
use crate::sealed::SCHEME;
use std::io::Read;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use wirespeed_inventory::Inventory;

/// The largest inventory that is read. A host of 128 cores and 128 queues has less than 1 MiB.
const MOST_BYTES: u64 = 64 << 20;

/// The longest time for connecting, and for reading the host. An upload has its own connection.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads the inventory of a host that ssh reaches, as its user: root reads more than others.
///
/// # Errors
/// If ssh, the upload of this program or the program there fails, or its output is not an inventory.
pub fn of_host(host: &str) -> Result<Inventory, TransportError> {
    let path = std::env::current_exe()
        .map_err(|source| TransportError::Io { doing: "find this program".into(), source })?;
    by_program(host, &Program::new(path))
}

/// The same with another program.
fn by_program(host: &str, program: &Program) -> Result<Inventory, TransportError> {
    if host.starts_with(SCHEME) {
        let reason = "inventories are read by ssh; give its ssh name";
        return Err(TransportError::host(host, reason, None));
    }
    match output(host, program)? {
        Ok(text) => return parse(host, &text),
        Err(end) if !end.not_there => return Err(TransportError::host(host, &end.reason, None)),
        Err(_) => Remote::install(host, program)?,
    }
    match output(host, program)? {
        Ok(text) => parse(host, &text),
        Err(end) => {
            let reason = format!("the program was copied there and does not run: {}", end.reason);
            Err(TransportError::host(host, &reason, None))
        }
    }
}

/// The text that the program prints on the host, or the reason why it ended.
fn output(host: &str, program: &Program) -> Result<Result<String, End>, TransportError> {
    let mut remote = Remote::run(host, program, "inventory --json", Stdio::null())?;
    let Some(output) = remote.output() else {
        return Err(TransportError::host(host, "it has no output", None));
    };
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        let read = output.take(MOST_BYTES + 1).read_to_end(&mut text);
        // The receiver is gone if it timed out.
        let _ = sender.send(read.map(|_| text));
    });
    let text = match receiver.recv_timeout(PATIENCE) {
        Ok(Ok(text)) => text,
        Ok(Err(error)) => return Err(TransportError::host(host, &error.to_string(), None)),
        Err(_) => {
            let reason = format!("timed out after {} s", PATIENCE.as_secs());
            return Err(TransportError::host(host, &reason, None));
        }
    };
    if text.len() as u64 > MOST_BYTES {
        let reason = format!("its inventory is larger than {} MiB", MOST_BYTES >> 20);
        return Err(TransportError::host(host, &reason, None));
    }
    Ok(remote.wait().map(|()| String::from_utf8_lossy(&text).into_owned()))
}

fn parse(host: &str, text: &str) -> Result<Inventory, TransportError> {
    Inventory::from_json(text).map_err(|error| TransportError::host(host, &error.to_string(), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_without_ssh_are_rejected_with_the_remedy() {
        let error = of_host("tcp://192.0.2.1:5000").unwrap_err().to_string();
        assert!(error.contains("give its ssh name"), "{error}");
    }

    #[test]
    fn output_that_is_not_an_inventory_is_rejected_with_the_host() {
        let error = parse("dtn1", "Welcome to dtn1!").unwrap_err().to_string();
        assert!(error.contains("host dtn1: not an inventory"), "{error}");
    }
}

//! The inventory of another host: this program is copied there, reads the host, and prints it.

use crate::TransportError;
use crate::command::on_host;
use crate::remote::Program;
use wirespeed_inventory::Inventory;

/// Reads the inventory of a host that ssh reaches, as its user: root reads more than others.
///
/// # Errors
/// If ssh, the upload of this program or the program there fails, or its output is not an inventory.
pub fn of_host(host: &str) -> Result<Inventory, TransportError> {
    let path = std::env::current_exe()
        .map_err(|source| TransportError::Io { doing: "find this program".into(), source })?;
    parse(host, &on_host(host, &Program::new(path), "inventory --json", b"")?)
}

fn parse(host: &str, text: &str) -> Result<Inventory, TransportError> {
    Inventory::from_json(text).map_err(|error| TransportError::host(host, &error.to_string(), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_is_not_an_inventory_is_rejected_with_the_host() {
        let error = parse("dtn1", "Welcome to dtn1!").unwrap_err().to_string();
        assert!(error.contains("host dtn1: not an inventory"), "{error}");
    }
}

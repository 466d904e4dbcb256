//! `wirespeed agent serve`: agents for controllers that have no ssh to this machine.

use super::linux::own_program;
use crate::failure::Failure;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use wirespeed_transport::sealed::{Secret, serve_sealed};
use wirespeed_units::Span;

/// Arguments of `wirespeed agent serve`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Address to listen on, of one interface.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = one_address)]
    listen: SocketAddr,
    /// File with the secret that controllers must have; only its owner may have access to it.
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
    /// Accept tests for this long.
    #[arg(long, alias = "for", value_name = "TIME", default_value = "1 h")]
    time: Span,
}

pub const EXAMPLES: &str = "\
Examples, on both hosts and then on the controller:
  wirespeed agent serve --listen 10.9.0.1:5000 --token-file token --time \"2 h\"
  export WIRESPEED_TOKEN_FILE=token
  wirespeed probe tcp://10.9.0.1:5000=10.9.0.1 tcp://10.9.0.2:5000=10.9.0.2";

fn one_address(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr =
        text.parse().map_err(|_| "write ADDRESS:PORT, for example 192.0.2.1:5000".to_owned())?;
    if address.ip().is_unspecified() {
        return Err("that is every interface; name the address of one".into());
    }
    Ok(address)
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Environment(error.to_string());
    let secret = Secret::read(&arguments.token_file).map_err(failed)?;
    let time = Duration::from_secs_f64(arguments.time.as_secs_f64());
    let told = |line: String| eprintln!("{line}");
    serve_sealed(arguments.listen, &secret, time, &own_program()?, &told)
        .map_err(|error| Failure::Environment(format!("{}: {error}", arguments.listen)))
}

//! `wirespeed serve`: folders of results as web pages.

use crate::failure::Failure;
use crate::{interrupt, print_plain};
use clap::Args;
use std::path::PathBuf;
use wirespeed_serve::{ServeError, Server};

/// Arguments of `wirespeed serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed serve wirespeed-out/first-look          # prints the address to open in a browser
  wirespeed serve wirespeed-out --port 8080         # all folders of results in a folder, on a fixed port
  ssh -L 8080:127.0.0.1:8080 lab wirespeed serve results --port 8080    # results of another machine

The pages are read-only, and only this machine can open them.")]
pub struct Arguments {
    /// Output folder of `wirespeed run`, or a folder of several.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Port of 127.0.0.1 and ::1 [default: a free one].
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
}

/// Carries the command out; it ends with Ctrl-C.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let generated_by = format!("wirespeed {}", crate::VERSION);
    let server = Server::new(&arguments.folder, arguments.port, &generated_by).map_err(failure)?;
    let stop = interrupt::flag();
    print_plain(&format!("Open {} in a browser. Ctrl-C ends the server.\n", server.url()))?;
    server.run(stop);
    Ok(())
}

fn failure(error: ServeError) -> Failure {
    let remedy = match &error {
        ServeError::Folder { .. } | ServeError::NoRuns { .. } => {
            "give the folder that `wirespeed run` wrote, or a folder of such folders".into()
        }
        ServeError::PortInUse { .. } => "give another --port, or leave it out to take a free one".into(),
        ServeError::Listen { .. } => return Failure::Environment(error.to_string()),
    };
    Failure::Usage { message: error.to_string(), remedy }
}

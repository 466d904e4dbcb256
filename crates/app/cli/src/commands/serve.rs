//! `wirespeed serve`: folders of results as web pages.

use crate::failure::Failure;
use crate::{interrupt, print_plain};
use clap::Args;
use std::path::PathBuf;
use wirespeed_serve::{Playground, PlaygroundError, ServeError, Server};

/// Arguments of `wirespeed serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed serve wirespeed-out/first-look          # prints the address to open in a browser
  wirespeed serve wirespeed-out --port 8080         # all folders of results in a folder, on a fixed port
  wirespeed serve results --playground playground.html    # offers the playground, too
  ssh -L 8080:127.0.0.1:8080 lab wirespeed serve results --port 8080    # results of another machine

The pages are read-only, and only this machine can open them.")]
pub struct Arguments {
    /// Output folder of `wirespeed run`, or a folder of several.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Port of 127.0.0.1 and ::1 [default: a free one].
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Page of `make playground` to offer at /playground [default: playground.html beside the program, under ../share/wirespeed, or
    /// of the build].
    #[arg(long, value_name = "FILE")]
    playground: Option<PathBuf>,
}

/// Carries the command out; it ends with Ctrl-C.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let generated_by = format!("wirespeed {}", crate::VERSION);
    let playground = playground(arguments)?;
    let mut server = Server::new(&arguments.folder, arguments.port, &generated_by).map_err(failure)?;
    if let Some(playground) = playground {
        server = server.with_playground(playground);
    }
    let stop = interrupt::flag();
    print_plain(&format!("Open {} in a browser. Ctrl-C ends the server.\n", server.url()))?;
    server.run(stop);
    Ok(())
}

/// The playground that the user named, or the one that belongs to this program.
fn playground(arguments: &Arguments) -> Result<Option<Playground>, Failure> {
    let Some(file) = &arguments.playground else {
        return Ok(std::env::current_exe().ok().and_then(|program| Playground::find(&program)));
    };
    Playground::open(file).map(Some).map_err(|error: PlaygroundError| Failure::Usage {
        message: error.to_string(),
        remedy: "give the page that `make playground` writes: target/playground/playground.html".into(),
    })
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

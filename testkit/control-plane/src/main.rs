//! `cargo xtask control-plane` without xtask's dependencies, so that it starts within seconds on a clean clone. Prints the folder.

use std::{io::Write, process::ExitCode};

fn main() -> ExitCode {
    let result = kubewright_control_plane::build().and_then(|folder| {
        writeln!(std::io::stdout(), "{}", folder.display()).map_err(|error| error.to_string().into())
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

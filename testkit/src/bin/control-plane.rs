//! Runs a control plane for manual experiments: prints its `KUBECONFIG`, and runs until stdin is closed (Ctrl-D) or it is killed. The
//! arguments are the names of the controllers to run.

use kubewright_testkit::ControlPlane;
use std::error::Error;
use std::io::{self, Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let controllers: Vec<String> = std::env::args().skip(1).collect();
    let controllers: Vec<&str> = controllers.iter().map(String::as_str).collect();
    let plane = ControlPlane::builder().controller_manager(&controllers).start()?;
    writeln!(
        io::stdout(),
        "KUBECONFIG={}",
        plane.admin().kubeconfig().display()
    )?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

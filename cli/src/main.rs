//! The command `kubewright`.

use std::process::ExitCode;

fn main() -> ExitCode {
    kubewright_cli::main()
}

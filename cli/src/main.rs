//! The `kubewright` command.

use std::process::ExitCode;

/// Allocation is a quarter of the API server's cost of a write: mimalloc halves it and needs no more memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    kubewright_cli::main()
}

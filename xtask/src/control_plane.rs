//! `cargo xtask control-plane`: builds the control plane for tests, and prints its folder.

use std::io::{self, Write};

/// Builds missing programs, unless `print_only`, and prints their folder.
pub(crate) fn run(print_only: bool) -> anyhow::Result<()> {
    let folder = if print_only {
        kubewright_control_plane::built()?
    } else {
        kubewright_control_plane::build()?
    };
    if uses_other_programs() {
        eprintln!("note: KUBEBUILDER_ASSETS is set; tests use that folder, not this build");
    }
    writeln!(io::stdout(), "{}", folder.display())?;
    Ok(())
}

/// Whether the user names another folder with the programs.
pub(crate) fn uses_other_programs() -> bool {
    std::env::var_os("KUBEBUILDER_ASSETS").is_some_and(|value| !value.is_empty())
}

//! The environment of the cargo that builds a project.

use std::{ffi::OsString, process::Command};

/// Removes the variables with which `cargo run` describes the package of the running program: ours, if the user runs us from a clone. Build
/// scripts depend on them, among them ring's. With them, this build and the user's own would each build ring again, and all that uses it.
pub(super) fn remove_variables_of_cargo_run(command: &mut Command, names: impl Iterator<Item = OsString>) {
    for name in names {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_describes_a_package_is_removed() {
        let mut command = Command::new("cargo");
        let names = [
            "CARGO_PKG_NAME",
            "CARGO_MANIFEST_DIR",
            "CARGO_TARGET_DIR",
            "CARGO_HOME",
            "PATH",
        ];
        remove_variables_of_cargo_run(&mut command, names.map(OsString::from).into_iter());
        let removed: Vec<_> = command
            .get_envs()
            .map(|(name, value)| (name.to_string_lossy(), value))
            .collect();
        assert_eq!(
            removed,
            [
                ("CARGO_MANIFEST_DIR".into(), None),
                ("CARGO_PKG_NAME".into(), None)
            ]
        );
    }
}

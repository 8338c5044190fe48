//! The version of the toolchain, and that of the kubewright crate.

use std::process::Command;

use cargo_metadata::semver::Version;

use super::Report;
use crate::{
    Error,
    cargo::OperatorTarget,
    cli_version::CLI_VERSION,
    project::{FORMAT, Project},
};

/// The oldest toolchain that compiles the kubewright crate.
const MINIMUM: &str = env!("CARGO_PKG_RUST_VERSION");

const TOOLCHAIN_FILE: &str = "rust-toolchain.toml";

/// Checks cargo's version, which is that of the compiler.
pub fn check_cargo(report: &mut Report<'_, '_>, project: &Project) -> Result<(), Error> {
    const SUBJECT: &str = "toolchain";
    let cargo = report.context().cargo.clone();
    let output = Command::new(&cargo)
        .arg("--version")
        .current_dir(&project.root)
        .output();
    let text = match output {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => {
            let fix = format!(
                "cannot run {}: {error}: install Rust, or set CARGO to your cargo",
                cargo.display()
            );
            return report.problem(SUBJECT, fix);
        }
    };
    // As in `cargo 1.95.0 (f2d3ce0bd 2026-03-21)`.
    let Some(found) = text
        .split_whitespace()
        .nth(1)
        .and_then(|version| Version::parse(version).ok())
    else {
        let fix = format!(
            "`{} --version` prints no version: install Rust, or set CARGO to your cargo",
            cargo.display()
        );
        return report.problem(SUBJECT, fix);
    };
    // An update does not change a pinned toolchain.
    if let Some(fix) = old_pin(project)? {
        return report.problem(SUBJECT, fix);
    }
    if let Some(wanted) = oldest(project)?.filter(|wanted| found < *wanted) {
        return report.problem(
            SUBJECT,
            format!("cargo is {found}, and the project needs {wanted}: run `rustup update`"),
        );
    }
    match pinned(project)? {
        Some(pinned) if !is_release(&found, &pinned) => report.problem(
            SUBJECT,
            format!(
                "cargo is {found}, and {TOOLCHAIN_FILE} selects {pinned}: install rustup, which switches by itself, or unset CARGO and \
                 RUSTUP_TOOLCHAIN"
            ),
        ),
        _ => report.ok(SUBJECT, format!("cargo {found}")),
    }
}

/// Checks the versions of the crate and of the project file. Returns whether the operator can be built.
pub fn check_versions(report: &mut Report<'_, '_>, project: &Project) -> Result<bool, Error> {
    const SUBJECT: &str = "versions";
    let cargo = report.context().cargo.clone();
    match OperatorTarget::resolve(&cargo, project) {
        Ok(_) => {
            report.ok(
                SUBJECT,
                format!("kubewright {CLI_VERSION}, kubewright.toml format {FORMAT}"),
            )?;
            Ok(true)
        }
        Err(error) => {
            report.problem(SUBJECT, error)?;
            Ok(false)
        }
    }
}

/// Returns the fix of a pinned toolchain that is older than what the project needs; none if there is nothing to fix.
pub fn old_pin(project: &Project) -> Result<Option<String>, Error> {
    let (Some(pinned), Some(wanted)) = (pinned(project)?, oldest(project)?) else {
        return Ok(None);
    };
    let is_old = minimum(&pinned).is_some_and(|pinned| pinned < wanted);
    Ok(is_old.then(|| {
        format!(
            "{TOOLCHAIN_FILE} selects {pinned}, and the project needs {wanted}: set `channel = \"{wanted}\"` there"
        )
    }))
}

/// Returns the oldest toolchain that compiles the project and the kubewright crate.
fn oldest(project: &Project) -> Result<Option<Version>, Error> {
    let own = toml_text(project, "Cargo.toml", "package", "rust-version")?;
    let own = own.as_deref().and_then(minimum);
    Ok(own.into_iter().chain(minimum(MINIMUM)).max())
}

/// Returns the release that the project selects; none if it selects none, or a channel such as `stable`.
fn pinned(project: &Project) -> Result<Option<String>, Error> {
    let channel = toml_text(project, TOOLCHAIN_FILE, "toolchain", "channel")?;
    Ok(channel.filter(|channel| channel.starts_with(|c: char| c.is_ascii_digit())))
}

/// Returns a text in a table of a file; none if there is none.
fn toml_text(project: &Project, file: &str, table: &str, key: &str) -> Result<Option<String>, Error> {
    let text = project.read(file)?.unwrap_or_default();
    let file: toml::Table = text.parse().unwrap_or_default();
    let value = file.get(table).and_then(|table| table.get(key)?.as_str());
    Ok(value.map(str::to_owned))
}

/// Parses a version whose last parts may be left out.
fn minimum(text: &str) -> Option<Version> {
    let mut parts = text.split('.').map(str::parse);
    let first = parts.next()?.ok()?;
    let mut next = || parts.next().and_then(Result::ok).unwrap_or(0);
    Some(Version::new(first, next(), next()))
}

/// Whether the version is one of a channel such as `1.95` or `1.95.0`.
fn is_release(version: &Version, channel: &str) -> bool {
    let number = version.to_string();
    let rest = number.strip_prefix(channel);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_parts() {
        let found = Version::new(1, 95, 1);
        assert!(is_release(&found, "1.95") && is_release(&found, "1.95.1"));
        assert!(!is_release(&found, "1.9") && !is_release(&found, "1.95.0"));
        assert_eq!(minimum("1.95"), Some(Version::new(1, 95, 0)));
        assert_eq!(minimum("stable"), None);
    }
}

//! Whether the project's packages are what `kubewright package` would write.

use super::Report;
use crate::{
    Error,
    generation::Decisions,
    packaging::{build::ProjectFiles, format::plan_existing},
    plan::{Plan, slashed},
    project::Project,
};

/// Compares the packages with the manifests as they are. A project may keep the package of its last release, so a stale one is a warning.
pub fn check(report: &mut Report<'_, '_>, project: &Project) -> Result<(), Error> {
    const SUBJECT: &str = "packages";
    let files = ProjectFiles {
        root: &project.root,
        plan: &Plan::default(),
    };
    let packages = match plan_existing(project, files, &Decisions::default()) {
        Err(Error::Package(error)) => return report.problem(SUBJECT, error),
        packages => packages?,
    };
    let mut current = Vec::new();
    for (format, files) in packages {
        let (path, command) = (format.path(), format.command());
        let files = match files {
            Ok(files) => files,
            Err(error) => {
                report.problem(SUBJECT, format_args!("{path} cannot be made: {error}"))?;
                continue;
            }
        };
        let is_clean = files.edited.is_empty() && files.conflicts.is_empty();
        for edited in files.edited {
            let path = slashed(&edited.path);
            let fix = format!(
                "{path} was edited by hand: make the edit in the manifests, and run `{command} --overwrite {path}`"
            );
            report.warning(SUBJECT, fix)?;
        }
        for conflict in files.conflicts {
            let path = slashed(&conflict.path);
            report.warning(
                SUBJECT,
                format!("{path} has a merge conflict: run `{command}`, which shows it"),
            )?;
        }
        if !files.plan.is_empty() {
            report.warning(
                SUBJECT,
                format!("{path} does not match the manifests: run `{command}`"),
            )?;
        } else if is_clean {
            current.push(path);
        }
    }
    if !current.is_empty() {
        report.ok(SUBJECT, format_args!("up to date: {}", current.join(", ")))?;
    }
    Ok(())
}

//! The files of the project: what `kubewright generate` would change or refuse, and what earlier changes left behind.

use super::Report;
use crate::{
    Error, cargo,
    error::path_list,
    generation::{self, Decisions},
    manifests::Manifests,
    packaging::leader_election,
    plan::slashed,
    project::Project,
};

/// Builds the operator, plans its files and reports what would change. Returns the operator's manifests; none if there are none.
pub fn check(report: &mut Report<'_, '_>, project: &Project) -> Result<Option<Manifests>, Error> {
    const SUBJECT: &str = "files";
    let manifests = match cargo::manifests(report.context(), project) {
        Ok(manifests) => manifests,
        Err(error) => {
            report.problem("build", error)?;
            return Ok(None);
        }
    };
    report.ok("build", "the operator prints its manifests")?;
    for warning in &manifests.warnings {
        report.warning("operator", warning)?;
    }
    let outcome = match generation::plan(project, &manifests, &Decisions::default()) {
        Ok(outcome) => outcome,
        Err(error) => {
            report.problem(SUBJECT, error)?;
            return Ok(Some(manifests));
        }
    };
    let replicas = leader_election::warning_after(project, &outcome.plan);
    for warning in outcome.warnings.iter().chain(&replicas) {
        report.warning(SUBJECT, warning)?;
    }
    for problem in &outcome.problems {
        report.problem("samples", problem)?;
    }
    for edited in &outcome.edited {
        let path = slashed(&edited.path);
        let fix = format!(
            "{path} was edited by hand: move the edit into the code, or run `{} --overwrite {path}`",
            edited.command
        );
        report.problem(SUBJECT, fix)?;
    }
    for conflict in &outcome.conflicts {
        let path = slashed(&conflict.path);
        let fix = format!(
            "{path} has a merge conflict: run `{}`, which shows it",
            conflict.command
        );
        report.problem(SUBJECT, fix)?;
    }
    let stale: Vec<_> = outcome.plan.changes().map(|change| change.path.clone()).collect();
    if !stale.is_empty() {
        report.problem(
            SUBJECT,
            format!("stale: {}: run `kubewright generate`", path_list(&stale)),
        )?;
    } else if outcome.edited.is_empty() && outcome.conflicts.is_empty() {
        report.ok(SUBJECT, "up to date")?;
    }
    Ok(Some(manifests))
}

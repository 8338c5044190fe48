//! `kubewright generate`: the manifests follow the code.

use std::path::{Path, PathBuf};

use super::managed_files::ManagedFiles;
use crate::{
    Context, Error,
    args::Generate,
    cargo,
    manifests::{Manifests, api_docs, crds, kustomization, rbac},
    ownership::{
        generated::{self, Edited},
        managed::{self, Conflicted, Resolution},
    },
    plan::Plan,
    project::Project,
    samples,
};

/// Brings all that is generated up to date, or says that it is not.
pub fn run(args: &Generate, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let manifests = cargo::manifests(context, &project)?;
    let relative = |paths: &[PathBuf]| {
        paths
            .iter()
            .map(|path| project.relative(&context.cwd, path))
            .collect()
    };
    let decisions = Decisions {
        overwrite: relative(&args.overwrite),
        keep: relative(&args.keep),
    };
    let outcome = plan(&project, &manifests, &decisions)?;
    for warning in manifests.warnings.iter().chain(&outcome.warnings) {
        context.say(format_args!("warning: {warning}"))?;
    }
    if !outcome.edited.is_empty() {
        return Err(Error::Edited(outcome.edited));
    }
    if !outcome.conflicts.is_empty() {
        return Err(Error::Conflict(outcome.conflicts));
    }
    let plan = outcome.plan;
    if args.check && !plan.is_empty() {
        context.print(&plan.diff())?;
        return Err(Error::Stale(plan.changes().count()));
    }
    if args.dry_run {
        context.print(&plan.to_string())?;
    } else if !plan.is_empty() {
        plan.apply(&project.root)?;
        context.say(plan.to_string().trim_end())?;
    }
    if !outcome.problems.is_empty() {
        return Err(Error::Samples(outcome.problems));
    }
    if plan.is_empty() {
        context.say("all is up to date")?;
    }
    Ok(())
}

/// What the user decided about single files, relative to the project.
#[derive(Debug, Default)]
pub struct Decisions {
    /// These may be overwritten although they were edited.
    pub overwrite: Vec<PathBuf>,
    /// These stay as they are although they conflict.
    pub keep: Vec<PathBuf>,
}

/// What would be written, and what stands against it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The changes.
    pub plan: Plan,
    /// Generated files that somebody edited.
    pub edited: Vec<Edited>,
    /// Shared files that both sides changed.
    pub conflicts: Vec<Conflicted>,
    /// Samples that do not fit.
    pub problems: Vec<String>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Plans all files that follow from the operator's manifests.
pub fn plan(project: &Project, manifests: &Manifests, decisions: &Decisions) -> Result<Outcome, Error> {
    let (root, settings) = (project.root.as_path(), &project.settings);
    let mut outcome = Outcome::default();
    let overwrite = |path: &Path| decisions.overwrite.iter().any(|found| found == path);
    let write = |outcome: &mut Outcome, path: &Path, text: &str, notes: &dyn Fn(&str) -> Vec<String>| {
        let edited = generated::plan_write(&mut outcome.plan, root, path, text, overwrite(path), notes)?;
        outcome.edited.extend(edited);
        Ok::<_, Error>(())
    };
    let silent = |_: &str| Vec::new();

    let mut definitions = Vec::new();
    for (kind, crd) in manifests.definitions() {
        let path = crds::path(kind);
        write(&mut outcome, &path, &crds::text(crd)?, &|old| {
            crds::notes(old, crd)
        })?;
        outcome.warnings.extend(crds::size_warning(kind, crd));
        definitions.push(path);
    }
    let mut roles = Vec::new();
    for (path, text) in rbac::files(manifests, &settings.namespace, settings.watched())? {
        write(&mut outcome, &path, &text, &silent)?;
        roles.push(path);
    }
    let deploy = deploy_is_there(project)?;
    let listed = definitions.iter().chain(&roles).map(PathBuf::as_path);
    write(
        &mut outcome,
        Path::new(kustomization::PATH),
        &kustomization::text(listed, deploy)?,
        &silent,
    )?;
    write(
        &mut outcome,
        Path::new(api_docs::PATH),
        &api_docs::text(manifests),
        &silent,
    )?;

    for (folder, wanted, note) in [
        (crds::FOLDER, &definitions, "BREAKING its kind is gone"),
        (rbac::FOLDER, &roles, "no longer needed"),
    ] {
        let left = generated::plan_sweep(
            &mut outcome.plan,
            root,
            Path::new(folder),
            wanted,
            overwrite,
            note,
        )?;
        outcome.edited.extend(left);
    }

    let managed = ManagedFiles {
        name: &settings.name,
        namespace: &settings.namespace,
        watched: settings.watched(),
    };
    for (path, rendering) in managed.render()? {
        let resolution = if overwrite(&path) {
            Resolution::TakeTheirs
        } else if decisions.keep.contains(&path) {
            Resolution::KeepOurs
        } else {
            Resolution::Report
        };
        outcome.conflicts.extend(managed::plan(
            &mut outcome.plan,
            root,
            &path,
            &rendering,
            resolution,
        )?);
    }

    let findings = samples::plan(&mut outcome.plan, root, manifests)?;
    outcome.problems = findings.problems;
    outcome.warnings.extend(findings.warnings);
    if manifests.operator != settings.name {
        outcome.warnings.push(format!(
            "main.rs calls the operator {:?} and kubewright.toml {:?}: its roles bear the one name and its Deployment \
             the other; make them equal",
            manifests.operator, settings.name
        ));
    }
    Ok(outcome)
}

/// Whether there will be something to deploy: the user may have deleted it, for good.
fn deploy_is_there(project: &Project) -> Result<bool, Error> {
    let path = Path::new("manifests/deploy/kustomization.yaml");
    let was_rendered = project.read(Path::new(managed::BASE).join(path))?.is_some();
    Ok(project.read(path)?.is_some() || !was_rendered)
}

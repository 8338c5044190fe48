//! Plans all files that `kubewright generate` writes.

mod definitions;
mod leftovers;
mod managed_files;

use std::path::{Path, PathBuf};

use crate::{
    Error,
    manifests::{Manifests, api_docs, crds, dashboard, kustomization, rbac, user_roles, webhooks},
    ownership::{
        generated::{self, EditedFile},
        managed::{self, ConflictedFile, Resolution},
    },
    plan::Plan,
    project::{Project, Settings},
    samples, source,
};

use managed_files::ManagedFiles;

/// The user's decisions about single files; paths are relative to the project.
#[derive(Debug, Default)]
pub struct Decisions {
    /// Overwrite these although they were edited.
    pub overwrite: Vec<PathBuf>,
    /// Keep the user's version of these on a merge conflict.
    pub keep: Vec<PathBuf>,
}

impl Decisions {
    /// Returns the decisions of arguments, whose paths are relative to `cwd`.
    pub(crate) fn of_arguments(
        project: &Project,
        cwd: &Path,
        overwrite: &[PathBuf],
        keep: &[PathBuf],
    ) -> Self {
        let relative = |paths: &[PathBuf]| paths.iter().map(|path| project.relative(cwd, path)).collect();
        Self {
            overwrite: relative(overwrite),
            keep: relative(keep),
        }
    }

    /// Whether to overwrite the file although it was edited.
    pub(crate) fn may_overwrite(&self, path: &Path) -> bool {
        self.overwrite.iter().any(|found| found == path)
    }

    /// Returns how to resolve a conflict of the managed file.
    pub(crate) fn resolution(&self, path: &Path) -> Resolution {
        if self.may_overwrite(path) {
            Resolution::TakeTheirs
        } else if self.keep.iter().any(|found| found == path) {
            Resolution::KeepOurs
        } else {
            Resolution::Report
        }
    }
}

/// The plan, and the reasons why it may not be applied.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The planned changes.
    pub plan: Plan,
    /// Generated files that were edited by hand.
    pub edited: Vec<EditedFile>,
    /// Managed files with merge conflicts.
    pub conflicts: Vec<ConflictedFile>,
    /// Samples that do not match their schema.
    pub problems: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Plans all files. Reads the project and writes nothing.
pub fn plan(project: &Project, manifests: &Manifests, decisions: &Decisions) -> Result<Outcome, Error> {
    plan_after(Plan::default(), project, manifests, decisions)
}

/// Adds the managed files to a plan, without the operator's manifests: whether it serves webhooks is as in the files that exist.
pub(crate) fn plan_managed_after(
    plan: Plan,
    project: &Project,
    decisions: &Decisions,
) -> Result<Outcome, Error> {
    let serves_webhooks = project.root.join(webhooks::FOLDER).is_dir();
    let mut planner = Planner::new(plan, project, decisions);
    planner.plan_managed(serves_webhooks)?;
    Ok(planner.outcome)
}

/// Adds all files to a plan that has other files of the project.
pub(crate) fn plan_after(
    plan: Plan,
    project: &Project,
    manifests: &Manifests,
    decisions: &Decisions,
) -> Result<Outcome, Error> {
    let settings = &project.settings;
    let manifests = &with_settings(manifests, settings);
    let sources = source::read_files(&project.root)?;
    definitions::check(manifests, &sources)?;
    let mut planner = Planner::new(plan, project, decisions);
    let managed = planner.plan_managed(manifests.webhooks.is_some())?;
    let crd_files = planner.plan_crds(manifests)?;
    let mut roles = rbac::files(manifests, &settings.namespace, settings.watched())?;
    if settings.deploy.user_roles {
        roles.extend(user_roles::file(manifests)?);
    }
    let role_files = planner.plan_files(roles)?;
    let dashboard = settings
        .metrics
        .dashboard
        .then(|| dashboard::file(manifests, &settings.namespace));
    let monitoring_files = planner.plan_files(dashboard.into_iter().collect())?;
    let webhook_files = planner.plan_files(webhooks::files(manifests)?)?;
    let mut folders = Vec::new();
    for (folder, files, note) in [
        (crds::FOLDER, crd_files, "BREAKING its kind was removed"),
        (rbac::FOLDER, role_files, "no longer needed"),
        (webhooks::FOLDER, webhook_files, "no longer needed"),
        (dashboard::FOLDER, monitoring_files, "no longer needed"),
    ] {
        if planner.plan_folder(folder, files, note)? {
            folders.push(Path::new(folder));
        }
    }
    if planner.will_exist(Path::new("manifests/deploy/Kustomization")) {
        folders.push(Path::new("manifests/deploy"));
    }
    let list = kustomization::text("manifests", folders)?;
    planner.plan_generated(&kustomization::path("manifests"), &list, |_| Vec::new())?;
    planner.plan_generated(Path::new(api_docs::PATH), &api_docs::text(manifests), |_| {
        Vec::new()
    })?;

    let mut outcome = planner.outcome;
    outcome
        .warnings
        .extend(rbac::webhook_warning(manifests, settings.watched()));
    outcome.warnings.extend(webhooks::own_namespace_warning(
        manifests,
        &settings.namespace,
        settings.watched(),
    ));
    outcome
        .warnings
        .extend(leftovers::unregistered_kinds(&sources, manifests));
    let report = samples::plan(&mut outcome.plan, project, manifests)?;
    outcome.problems = report.problems;
    outcome.warnings.extend(report.warnings);
    let (root, changes) = (&project.root, &outcome.plan);
    let missing = leftovers::missing_resources(root, changes, &managed)?;
    let mentions = leftovers::mentions_of_deleted(root, changes, &managed)?;
    outcome.warnings.extend(missing.into_iter().chain(mentions));
    if manifests.operator != project.settings.name {
        outcome.warnings.push(format!(
            "the operator is called {:?} in main.rs and {:?} in kubewright.toml, so the names of its roles and of its \
             Deployment differ; make them equal",
            manifests.operator, project.settings.name
        ));
    }
    Ok(outcome)
}

/// Returns the operator's manifests as the project's settings change them.
pub(crate) fn with_settings(manifests: &Manifests, settings: &Settings) -> Manifests {
    let mut manifests = manifests.clone();
    settings
        .webhooks
        .certificates
        .apply(&mut manifests, &settings.namespace);
    webhooks::limit_to(&mut manifests, settings.watched());
    if !settings.metrics.secure {
        manifests
            .permissions
            .retain(|permission| !permission.is_for_metrics());
    }
    manifests
}

struct Planner<'a> {
    project: &'a Project,
    decisions: &'a Decisions,
    outcome: Outcome,
}

impl<'a> Planner<'a> {
    /// Adds to a plan.
    fn new(plan: Plan, project: &'a Project, decisions: &'a Decisions) -> Self {
        Self {
            project,
            decisions,
            outcome: Outcome {
                plan,
                ..Outcome::default()
            },
        }
    }

    fn plan_generated(
        &mut self,
        path: &Path,
        text: &str,
        notes: impl FnOnce(&str) -> Vec<String>,
    ) -> Result<(), Error> {
        let overwrite = self.decisions.may_overwrite(path);
        let plan = &mut self.outcome.plan;
        let edited = generated::plan_write(plan, &self.project.root, path, text, overwrite, notes)?;
        self.outcome.edited.extend(edited);
        Ok(())
    }

    fn plan_crds(&mut self, manifests: &Manifests) -> Result<Vec<PathBuf>, Error> {
        let mut files = Vec::new();
        for (kind, crd) in manifests.defined_crds() {
            let path = crds::path(kind);
            let crd = self.project.settings.descriptions.apply(crd);
            self.plan_generated(&path, &crds::text(&crd)?, |old| crds::notes(old, kind, &crd))?;
            self.outcome.warnings.extend(crds::size_warning(kind, &crd));
            files.push(path);
        }
        Ok(files)
    }

    /// Plans files with their texts. Returns their paths.
    fn plan_files(&mut self, files: Vec<(PathBuf, String)>) -> Result<Vec<PathBuf>, Error> {
        let mut paths = Vec::new();
        for (path, text) in files {
            self.plan_generated(&path, &text, |_| Vec::new())?;
            paths.push(path);
        }
        Ok(paths)
    }

    /// Plans the kustomization of a folder and the removal of its stale files. Returns whether the folder has files.
    fn plan_folder(&mut self, folder: &str, mut files: Vec<PathBuf>, note: &str) -> Result<bool, Error> {
        let filled = !files.is_empty();
        if filled {
            let list = kustomization::path(folder);
            let text = kustomization::text(folder, files.iter().map(PathBuf::as_path))?;
            self.plan_generated(&list, &text, |_| Vec::new())?;
            files.push(list);
        }
        let (root, decisions) = (&self.project.root, self.decisions);
        let overwrite = |path: &Path| decisions.may_overwrite(path);
        let plan = &mut self.outcome.plan;
        let edited = generated::plan_removals(plan, root, Path::new(folder), &files, overwrite, note)?;
        self.outcome.edited.extend(edited);
        Ok(filled)
    }

    /// Returns the paths of the managed files.
    fn plan_managed(&mut self, serves_webhooks: bool) -> Result<Vec<PathBuf>, Error> {
        let settings = &self.project.settings;
        let files = ManagedFiles {
            name: &settings.name,
            namespace: &settings.namespace,
            watched: settings.watched(),
            certificates: serves_webhooks.then_some(settings.webhooks.certificates),
            deploy: settings.deploy,
            metrics: settings.metrics,
        };
        let mut paths = Vec::new();
        for (path, rendering) in files.render()? {
            let resolution = self.decisions.resolution(&path);
            let plan = &mut self.outcome.plan;
            let root = &self.project.root;
            let conflict = if let Some(rendering) = rendering {
                paths.push(path.clone());
                managed::plan(plan, root, &path, &rendering, resolution)?
            } else {
                let why = "switched off in kubewright.toml";
                managed::plan_removal(plan, root, &path, resolution, why)?
            };
            self.outcome.conflicts.extend(conflict);
        }
        Ok(paths)
    }

    /// Whether the file exists or is planned; the user may have deleted it permanently.
    fn will_exist(&self, path: &Path) -> bool {
        let planned = self.outcome.plan.changes().any(|change| change.path == path);
        planned || self.project.root.join(path).exists()
    }
}

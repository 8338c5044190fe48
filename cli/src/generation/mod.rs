//! All files that follow from the operator's manifests, planned.

mod managed_files;

use std::path::{Path, PathBuf};

use crate::{
    Error,
    manifests::{Manifests, api_docs, crds, kustomization, rbac},
    ownership::{
        generated::{self, Edited},
        managed::{self, Conflicted, Resolution},
    },
    plan::Plan,
    project::Project,
    samples,
};

pub(crate) use managed_files::ManagedFiles;

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

/// Plans all files. Reads the project, writes nothing.
pub fn plan(project: &Project, manifests: &Manifests, decisions: &Decisions) -> Result<Outcome, Error> {
    let mut planner = Planner {
        project,
        decisions,
        outcome: Outcome::default(),
    };
    planner.managed()?;
    let definitions = planner.definitions(manifests)?;
    let roles = planner.roles(manifests)?;
    let mut folders = Vec::new();
    for (folder, files, note) in [
        (crds::FOLDER, definitions, "BREAKING its kind is gone"),
        (rbac::FOLDER, roles, "no longer needed"),
    ] {
        if planner.folder(folder, files, note)? {
            folders.push(Path::new(folder));
        }
    }
    if planner.will_be_there(Path::new("manifests/deploy/Kustomization")) {
        folders.push(Path::new("manifests/deploy"));
    }
    let list = kustomization::text("manifests", folders)?;
    planner.generated(&kustomization::path("manifests"), &list, |_| Vec::new())?;
    planner.generated(Path::new(api_docs::PATH), &api_docs::text(manifests), |_| {
        Vec::new()
    })?;

    let mut outcome = planner.outcome;
    let findings = samples::plan(&mut outcome.plan, &project.root, manifests)?;
    outcome.problems = findings.problems;
    outcome.warnings.extend(findings.warnings);
    if manifests.operator != project.settings.name {
        outcome.warnings.push(format!(
            "main.rs calls the operator {:?} and kubewright.toml {:?}: its roles bear the one name and its Deployment \
             the other; make them equal",
            manifests.operator, project.settings.name
        ));
    }
    Ok(outcome)
}

struct Planner<'a> {
    project: &'a Project,
    decisions: &'a Decisions,
    outcome: Outcome,
}

impl Planner<'_> {
    fn generated(
        &mut self,
        path: &Path,
        text: &str,
        notes: impl FnOnce(&str) -> Vec<String>,
    ) -> Result<(), Error> {
        let overwrite = self.may_overwrite(path);
        let plan = &mut self.outcome.plan;
        let edited = generated::plan_write(plan, &self.project.root, path, text, overwrite, notes)?;
        self.outcome.edited.extend(edited);
        Ok(())
    }

    fn definitions(&mut self, manifests: &Manifests) -> Result<Vec<PathBuf>, Error> {
        let mut files = Vec::new();
        for (kind, crd) in manifests.definitions() {
            let path = crds::path(kind);
            self.generated(&path, &crds::text(crd)?, |old| crds::notes(old, crd))?;
            self.outcome.warnings.extend(crds::size_warning(kind, crd));
            files.push(path);
        }
        Ok(files)
    }

    fn roles(&mut self, manifests: &Manifests) -> Result<Vec<PathBuf>, Error> {
        let settings = &self.project.settings;
        let mut files = Vec::new();
        for (path, text) in rbac::files(manifests, &settings.namespace, settings.watched())? {
            self.generated(&path, &text, |_| Vec::new())?;
            files.push(path);
        }
        Ok(files)
    }

    /// Lists the files of a folder and sweeps out what is no longer there. False for a folder without files.
    fn folder(&mut self, folder: &str, mut files: Vec<PathBuf>, note: &str) -> Result<bool, Error> {
        let filled = !files.is_empty();
        if filled {
            let list = kustomization::path(folder);
            let text = kustomization::text(folder, files.iter().map(PathBuf::as_path))?;
            self.generated(&list, &text, |_| Vec::new())?;
            files.push(list);
        }
        let (root, decisions) = (&self.project.root, self.decisions);
        let overwrite = |path: &Path| decisions.overwrite.iter().any(|found| found == path);
        let plan = &mut self.outcome.plan;
        let left = generated::plan_sweep(plan, root, Path::new(folder), &files, overwrite, note)?;
        self.outcome.edited.extend(left);
        Ok(filled)
    }

    fn managed(&mut self) -> Result<(), Error> {
        let settings = &self.project.settings;
        let files = ManagedFiles {
            name: &settings.name,
            namespace: &settings.namespace,
            watched: settings.watched(),
        };
        for (path, rendering) in files.render()? {
            let resolution = if self.may_overwrite(&path) {
                Resolution::TakeTheirs
            } else if self.decisions.keep.contains(&path) {
                Resolution::KeepOurs
            } else {
                Resolution::Report
            };
            let plan = &mut self.outcome.plan;
            let conflict = managed::plan(plan, &self.project.root, &path, &rendering, resolution)?;
            self.outcome.conflicts.extend(conflict);
        }
        Ok(())
    }

    fn may_overwrite(&self, path: &Path) -> bool {
        self.decisions.overwrite.iter().any(|found| found == path)
    }

    /// Whether the file is there or planned: the user may have deleted it, for good.
    fn will_be_there(&self, path: &Path) -> bool {
        let planned = self.outcome.plan.changes().any(|change| change.path == path);
        planned || self.project.root.join(path).exists()
    }
}

//! `kubewright add version`: adds a version to a kind, which becomes the hub.

use std::path::{Path, PathBuf};

use kubewright_templates::{VersionsModule, render};

use super::{
    source_edits,
    version_files::{NewVersion, plan_samples, plan_test, plan_tests_of_hub},
};
use crate::{
    Context, Error,
    args::AddVersion,
    error::VersionError,
    format::{format_rust, keep_formatted},
    names::ApiVersion,
    plan::{Plan, slashed},
    project::Project,
    source::{self, InsertError, ProjectItems},
    versions::{VersionedKind, in_file, is_newer},
};

/// Adds the version. The file of the hub before is moved, if it is the kind's only one.
pub fn run(args: &AddVersion, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let sources = source_edits::read_sources(&project)?;
    let kind = VersionedKind::find(&project, &sources, &args.kind)?;
    let new = NewVersion {
        kind: &kind,
        version: args.version.as_str(),
        project: &project,
        sources: &sources,
        context,
    };
    let plan = new.plan(args.from.as_ref().map(ApiVersion::as_str))?;
    let unconverted = new.unconverted(&plan)?;
    if plan.is_empty() && !args.write.dry_run {
        return context.message(format_args!(
            "version {} of {} already exists, nothing to do",
            args.version, args.kind
        ));
    }
    if !source_edits::apply(&plan, &project, args.write, context)? {
        return Ok(());
    }
    for problem in unconverted {
        context.message(format_args!("warning: {problem}"))?;
    }
    if kind.version(args.version.as_str()).is_some() {
        return context.message("\nnext:\n  kubewright generate");
    }
    let [file, old] = [args.version.as_str(), &kind.hub].map(|version| slashed(&kind.path_of(version)));
    context.message(format_args!(
        "\nnext:\n  change {file}; rules for what changed are `#[convert(…)]` in {old}\n  cargo test\n  kubewright generate"
    ))
}

impl NewVersion<'_, '_> {
    fn plan(&self, from: Option<&str>) -> Result<Plan, Error> {
        let exists = self.check(from)?;
        let mut plan = Plan::default();
        if !exists {
            self.plan_versions(&mut plan)?;
            self.plan_module(&mut plan)?;
            let example = plan_samples(self, &mut plan)?;
            plan_test(self, &mut plan, example.as_ref())?;
            plan_tests_of_hub(self, &mut plan)?;
        }
        if exists && self.kind.others().next().is_none() {
            return Ok(plan);
        }
        // As `add kind`: lines that were deleted are inserted again.
        let module = self.kind.module();
        for path in ["src/api/mod.rs", "src/api.rs"].map(Path::new) {
            if let Some(text) = self.project.read(path)? {
                let exported = source::export_hub_in_prelude(&text, &module, self.version);
                let exported = exported.map_err(|error| in_file(path, error))?;
                plan.write(path, Some(text), exported);
            }
        }
        self.plan_call(&mut plan)?;
        Ok(plan)
    }

    /// Refuses what is not a new hub. Returns whether the version is the hub already.
    fn check(&self, from: Option<&str>) -> Result<bool, Error> {
        let VersionedKind { kind, hub, .. } = self.kind;
        let (kind, version, hub) = (kind.clone(), self.version.to_owned(), hub.clone());
        if let Some(from) = from
            && self.kind.version(from).is_none()
        {
            return Err(self.kind.unknown_version(from).into());
        }
        if let Some(found) = self.kind.version(self.version) {
            if found.version == hub {
                return Ok(true);
            }
            let path = found.path.clone();
            return Err(VersionError::VersionExists {
                kind,
                version,
                path,
                hub,
            }
            .into());
        }
        if let Some(from) = from.filter(|from| *from != hub) {
            let from = from.to_owned();
            return Err(VersionError::FromOther { kind, from, hub }.into());
        }
        if !is_newer(self.version, &hub) {
            return Err(VersionError::NotNewer { kind, version, hub }.into());
        }
        let path = if self.kind.has_folder {
            self.kind.path_of(self.version)
        } else {
            self.kind.folder.clone()
        };
        if self.project.root.join(&path).exists() {
            return Err(VersionError::PathExists { kind, path }.into());
        }
        Ok(false)
    }

    /// Plans the new version's file, and the changes of the others.
    fn plan_versions(&self, plan: &mut Plan) -> Result<(), Error> {
        let VersionedKind { kind, hub, .. } = self.kind;
        for file in &self.kind.versions {
            let text = self.project.read(&file.path)?.unwrap_or_default();
            let failed = |error| in_file(&file.path, error);
            if file.version != *hub {
                let edited = source::change_hub(&text, kind, hub, self.version).map_err(failed)?;
                let edited = keep_formatted(self.context, &text, edited)?;
                plan.write(&file.path, Some(text), edited);
                continue;
            }
            let moved = if self.kind.has_folder {
                text.clone()
            } else {
                check_modules(&file.path, &text)?;
                source::move_down(&text).map_err(failed)?
            };
            let new = source::set_version(&moved, kind, self.version).map_err(failed)?;
            plan.write(
                self.kind.path_of(self.version),
                None,
                keep_formatted(self.context, &text, new)?,
            );
            let old = source::derive_conversion(&moved, kind, self.version).map_err(failed)?;
            let old = keep_formatted(self.context, &text, old)?;
            let path = self.kind.path_of(hub);
            if self.kind.has_folder {
                plan.write(path, Some(text), old);
            } else {
                let note = format!("moved to {}", slashed(&path));
                plan.write(path, None, old);
                plan.delete(&file.path, text, vec![note]);
            }
        }
        Ok(())
    }

    /// Plans the file that registers the versions.
    fn plan_module(&self, plan: &mut Plan) -> Result<(), Error> {
        let VersionedKind { kind, hub, .. } = self.kind;
        let path = self.kind.module_path();
        if self.kind.has_folder {
            let text = self.project.read(&path)?.unwrap_or_default();
            let edited = source::add_hub(&text, kind, self.version).map_err(|error| in_file(&path, error))?;
            let edited = keep_formatted(self.context, &text, edited)?;
            plan.write(path, Some(text), edited);
            return Ok(());
        }
        let mut modules = [&**hub, self.version];
        modules.sort_unstable();
        let module = render(&VersionsModule {
            kind,
            modules,
            hub: self.version,
            other: hub,
            stored_comment: source::stored_comment(hub, self.version, kind),
        })?;
        let formatted = format_rust(self.context, &[module])?;
        plan.write(path, None, formatted.concat());
        Ok(())
    }

    /// Plans the call of the registration in the controller, unless there is one anywhere.
    fn plan_call(&self, plan: &mut Plan) -> Result<(), Error> {
        let (kind, path) = (&self.kind.kind, self.kind.rust_path());
        let texts = self.sources.iter().map(|file| {
            let text = self.project.read(&file.path)?.unwrap_or_default();
            Ok((file.path.clone(), text))
        });
        let texts = texts.collect::<Result<Vec<(PathBuf, String)>, Error>>()?;
        let module = self.kind.module();
        let crate_name = source_edits::crate_name(self.project)?;
        let items = ProjectItems::of(&crate_name);
        let calls = |(_, text): &(PathBuf, String)| {
            !source::module_lines(text, items, Some(&module), source::REGISTER).is_empty()
        };
        if texts.iter().any(calls) {
            return Ok(());
        }
        for (file, text) in texts {
            let called =
                source::call_registration(&text, kind, &path).map_err(|error| in_file(&file, error))?;
            if let Some(called) = called {
                plan.write(file, Some(text), called);
                return Ok(());
            }
        }
        Err(InsertError::NoInsertionPoint {
            reason: "found no `register` of the kind's controller",
            line: format!("{path}::{}(setup);", source::REGISTER),
        }
        .into())
    }

    /// Returns what the planned version before does not convert, with its places.
    fn unconverted(&self, plan: &Plan) -> Result<Vec<String>, Error> {
        let path = self.kind.path_of(&self.kind.hub);
        let planned = plan.changes().find(|change| change.path == path);
        let Some(text) = planned.and_then(|change| change.after.as_deref()) else {
            return Ok(Vec::new());
        };
        let problems = source::unconverted(text, &self.kind.kind).map_err(|error| in_file(&path, error))?;
        let problems = problems.into_iter();
        let path = slashed(&path);
        Ok(problems
            .map(|(line, problem)| format!("{path}:{line}: {problem}"))
            .collect())
    }
}

/// Refuses a file with modules in other files: their paths depend on its own.
fn check_modules(path: &Path, text: &str) -> Result<(), Error> {
    match source::file_module(text).map_err(|error| in_file(path, error))? {
        None => Ok(()),
        Some((line, module)) => Err(VersionError::FileModule {
            path: path.to_owned(),
            line,
            module,
        }
        .into()),
    }
}

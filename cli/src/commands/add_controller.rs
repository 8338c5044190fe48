//! `kubewright add controller`: adds a controller of a kind that exists, with its test.

use std::path::{Path, PathBuf};

use kubewright_templates::{ExistingKindController, ExistingKindTest, OwnedKind, render};
use serde_json::Value;

use super::{
    built_in_examples::json_text,
    kind_target::KindTarget,
    registered_type::CONTROLLER,
    source_edits::{self, crate_name},
};
use crate::{
    Context, Error,
    args::AddController,
    error::KindError,
    format::format_rust,
    names::{plural, snake_case},
    plan::{Plan, slashed},
    project::Project,
    source::{self, SourceFile},
    versions::{VersionedKind, in_file},
};

/// Types that the file of a controller uses.
const TYPES: &[&str] = &[
    "Action",
    "Lister",
    "LookupError",
    "NamespacedName",
    "ReconcileError",
    "Reconciler",
    "Result",
    "Setup",
];

/// Adds the controller. Existing files and lines are kept.
pub fn run(args: &AddController, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let sources = source_edits::read_sources(&project)?;
    let target = KindTarget::find(&args.kind, &sources)?;
    let owned = args.owns.iter().map(|owned| KindTarget::find(owned, &sources));
    let new = NewController {
        crate_name: crate_name(&project)?,
        name: CONTROLLER.name(&target.kind),
        path: CONTROLLER.path(&target.module()),
        owned: owned.collect::<Result<_, _>>()?,
        target,
    };
    new.check()?;
    let plan = plan(&new, &project, &sources, context)?;
    if plan.is_empty() && !args.write.dry_run {
        let kind = &new.target.kind;
        context.message(format_args!(
            "the controller of {kind} already exists, nothing to do"
        ))?;
        return Ok(());
    }
    if !source_edits::apply(&plan, &project, args.write, context)? {
        return Ok(());
    }
    if !new.owned.is_empty() && !plan.changes().any(|change| change.path == new.path) {
        let path = slashed(&new.path);
        context.message(format_args!(
            "note: {path} is yours and was not changed: write what `--owns` adds there"
        ))?;
    }
    context.message(
        "\nnext:\n  cargo test           # the tests call the reconciler\n  \
         kubewright generate  # writes the permissions of its watches",
    )
}

/// The controller to add.
struct NewController {
    /// The crate name in Rust code.
    crate_name: String,
    target: KindTarget,
    owned: Vec<KindTarget>,
    name: String,
    path: PathBuf,
}

impl NewController {
    /// Refuses kinds that have no place in one file.
    fn check(&self) -> Result<(), KindError> {
        let mut names = Vec::new();
        for target in [&self.target].into_iter().chain(&self.owned) {
            target.check_name(TYPES, "kubewright")?;
            if names.contains(&&target.kind) {
                return Err(KindError::NameClash {
                    name: target.kind.clone(),
                    reason: "the command names this kind twice".to_owned(),
                });
            }
            names.push(&target.kind);
        }
        let is_too_wide = |owned: &&KindTarget| self.target.namespaced && !owned.namespaced;
        match self.owned.iter().find(is_too_wide) {
            Some(owned) => Err(KindError::OwnsClusterScoped {
                kind: self.target.kind.clone(),
                owned: owned.kind.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Returns the path of the test.
    fn test_path(&self) -> PathBuf {
        CONTROLLER.test_path(&self.target.module())
    }

    fn code(&self, project: &Project, sources: &[SourceFile]) -> Result<String, Error> {
        let kind = &*self.target.kind;
        let (mut imports, mut own_imports) = (Vec::new(), Vec::new());
        for target in [&self.target].into_iter().chain(&self.owned) {
            let list = if target.is_own() {
                &mut own_imports
            } else {
                &mut imports
            };
            list.push(&*target.path);
        }
        imports.sort_unstable();
        own_imports.sort_unstable();
        let owned = self.owned.iter().map(|owned| OwnedKind {
            kind: owned.kind.clone(),
            snakes: plural(&owned.module()),
            informer: informer(owned),
        });
        let text = render(&ExistingKindController {
            kind,
            lower: &kind.to_lowercase(),
            snake: &snake_case(kind),
            snakes: &plural(&self.target.module()),
            informer: informer(&self.target),
            imports: &imports,
            own_imports: &own_imports,
            owned: &owned.collect::<Vec<_>>(),
        })?;
        if !self.target.is_own() {
            return Ok(text);
        }
        // Kinds of others, and those in one file, have no registration of their versions.
        let versions = VersionedKind::find(project, sources, kind)
            .ok()
            .filter(|kind| kind.has_folder);
        let called = versions.map(|versions| source::call_registration(&text, kind, &versions.rust_path()));
        let called = called.transpose().map_err(|error| in_file(&self.path, error))?;
        Ok(called.flatten().unwrap_or(text))
    }

    fn test(&self, project: &Project) -> Result<String, Error> {
        let kind = &self.target.kind;
        let example = self.target.example(project)?;
        let (mut example, _) = example.ok_or_else(|| KindError::NoSample(kind.clone()))?;
        let metadata = &mut example["metadata"];
        if self.target.namespaced && !metadata["namespace"].is_string() {
            metadata["namespace"] = "default".into();
        }
        let names = [&metadata["namespace"], &metadata["name"]];
        let key: Vec<_> = names.into_iter().filter_map(Value::as_str).collect();
        Ok(render(&ExistingKindTest {
            crate_name: &self.crate_name,
            kind,
            key: &key.join("/"),
            example: &json_text(&example),
        })?)
    }
}

/// Returns the method of the informer factory: that of the project's kinds knows their definition.
fn informer(target: &KindTarget) -> &'static str {
    if target.has_informer() { "custom" } else { "of" }
}

/// Plans the files and lines that the controller still lacks.
fn plan(
    new: &NewController,
    project: &Project,
    sources: &[SourceFile],
    context: &Context<'_>,
) -> Result<Plan, Error> {
    let mut plan = Plan::default();
    match source::defined_type(sources, &new.name) {
        Some((path, _)) if path == new.path => {}
        Some((path, line)) => {
            let (kind, path) = (new.target.kind.clone(), path.to_owned());
            return Err(KindError::HasController { kind, path, line }.into());
        }
        None => {
            for path in [&new.path, &new.test_path()] {
                if project.read(path)?.is_some() {
                    let (path, name) = (Path::to_owned(path), new.name.clone());
                    return Err(KindError::FileExists { path, name }.into());
                }
            }
            let texts = [new.code(project, sources)?, new.test(project)?];
            let paths = [new.path.clone(), new.test_path()];
            for (path, text) in paths.into_iter().zip(format_rust(context, &texts)?) {
                plan.write(path, None, text);
            }
        }
    }
    source_edits::declare(&mut plan, project, CONTROLLER.folder)?;
    let names = (&*new.target.kind, &*new.target.module());
    source_edits::register(&mut plan, project, &CONTROLLER, names)?;
    Ok(plan)
}

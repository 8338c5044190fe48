//! `kubewright rename group`: moves the kinds of an API group of the project to another group, in code, samples and settings.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::Value;

use super::{
    cluster_steps::{self, MovedKind},
    leftover_names, remove_version, source_edits,
};
use crate::{
    Context, Error,
    args::RenameGroup,
    error::KindError,
    format::keep_formatted,
    imports,
    plan::{Plan, slashed},
    project::{self, Project},
    samples,
    source::{self, DefinedKind, GroupNames, ProjectKind},
    versions::{VersionedKind, in_file},
};

/// Renames the group, unless the new one is used.
pub fn run(args: &RenameGroup, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let (old, new) = (&*args.old, args.new.as_str());
    let sources = source_edits::read_sources(&project)?;
    let kinds = source::project_kinds(&sources);
    let own = |group: &str| -> Vec<&DefinedKind> {
        let of_group = kinds.iter().map(|found| &found.kind);
        of_group
            .filter(|kind| kind.is_own && kind.group == group)
            .collect()
    };
    let moved = own(old);
    if moved.is_empty() && !own(new).is_empty() {
        return context.message(format_args!(
            "there are kinds of {new} and none of {old}, nothing to do"
        ));
    }
    if moved.is_empty() {
        let mut known: Vec<String> = kinds
            .iter()
            .filter(|found| found.kind.is_own)
            .map(|found| found.kind.group.clone())
            .collect();
        known.sort();
        known.dedup();
        return Err(KindError::UnknownGroup {
            group: old.to_owned(),
            known,
        }
        .into());
    }
    let mut definitions = BTreeMap::new();
    for kind in &moved {
        let kind = VersionedKind::find(&project, &sources, &kind.kind)?;
        let definition = remove_version::definition(&kind, &project)?.0;
        definitions.insert(definition, (kind.kind, kind.stored));
    }
    let plural = |definition: &String| Some(definition.split_once('.')?.0.to_owned());
    let names = |group: &str| GroupNames {
        group: group.to_owned(),
        plurals: definitions.keys().filter_map(plural).collect(),
    };
    let plan = plan(&project, [&names(old), &names(new)], context)?;
    let kept = kept(&project, &plan, &kinds, [old, new])?;
    leftover_names::print(old, &kept, context)?;
    if !source_edits::rewrite(&plan, &project, args.write, context)? {
        return Ok(());
    }
    let moved: Vec<_> = definitions
        .into_iter()
        .map(|(definition, (kind, stored))| MovedKind {
            kinds: [kind.clone(), kind],
            stored,
            groups: [old, new].map(str::to_owned),
            resources: [
                definition.clone(),
                format!("{}.{new}", plural(&definition).unwrap_or_default()),
            ],
        })
        .collect();
    let packages = leftover_names::package_steps(&project)?;
    let steps = cluster_steps::steps(&project, &moved)?;
    context.message(format_args!(
        "\nnext:\n  kubewright generate  # replaces the CRDs, the permissions and the documentation\n{packages}\n\
         clusters that have objects of {old} keep them; for each cluster, in bash:\n{}",
        steps.trim_end()
    ))
}

/// Plans the new group.
fn plan(
    project: &Project,
    [old_names, new_names]: [&GroupNames; 2],
    context: &Context<'_>,
) -> Result<Plan, Error> {
    let (old, new) = (&*old_names.group, &*new_names.group);
    let mut plan = Plan::default();
    let mut clashes = Vec::new();
    for path in source::package_files(&project.root)? {
        if path.starts_with(imports::MODULES) {
            continue;
        }
        let before = project.read(&path)?.unwrap_or_default();
        let place = |line| format!("{}:{line}", slashed(&path));
        clashes.extend(new_names.lines(&before).into_iter().map(place));
        let after = old_names
            .rename(&before, new)
            .map_err(|error| in_file(&path, error))?;
        let after = if after == before {
            after
        } else {
            keep_formatted(context, &before, after)?
        };
        plan.write(path, Some(before), after);
    }
    if !clashes.is_empty() {
        return Err(KindError::NameInUse {
            name: new.to_owned(),
            places: clashes,
        }
        .into());
    }
    for file in samples::read(&project.root)? {
        let before = project.read(&file.path)?.unwrap_or_default();
        let is_of_group = |object: &Value| {
            let version = object["apiVersion"].as_str().unwrap_or_default();
            version
                .strip_prefix(old)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        let after = file.with_field_renamed(&before, "apiVersion", (old, new), is_of_group);
        plan.write(&file.path, Some(before), after);
    }
    if project.settings.group == old {
        let before = project.read(project::FILE)?.unwrap_or_default();
        let is_setting = |line: &str| line.split_once('=').is_some_and(|(key, _)| key.trim() == "group");
        let edit = |line: &str| {
            if is_setting(line) {
                line.replacen(old, new, 1)
            } else {
                line.to_owned()
            }
        };
        let after: String = before.split_inclusive('\n').map(edit).collect();
        plan.write(project::FILE, Some(before), after);
    }
    Ok(plan)
}

/// Returns the places that name the group and are not changed: finalizers, labels, comments, texts.
fn kept(
    project: &Project,
    plan: &Plan,
    kinds: &[ProjectKind],
    [old, new]: [&str; 2],
) -> Result<Vec<String>, Error> {
    let others = kinds.iter().map(|found| &*found.kind.group).chain([new]);
    // A domain above the old one is not apart from it.
    let others: BTreeSet<&str> = others
        .filter(|other| other.strip_suffix(old).is_some_and(|rest| rest.ends_with('.')))
        .collect();
    let lines = |_: &Path, text: &str| source::domain_lines(text, old, &others);
    leftover_names::places(project, plan, &Path::to_owned, &lines)
}

//! `kubewright rename group`: moves the kinds of an API group of the project to another group, in code, samples and settings.

use serde_json::Value;

use super::{remove_version, source_edits};
use crate::{
    Context, Error,
    args::RenameGroup,
    error::KindError,
    format::keep_formatted,
    imports,
    plan::{Plan, slashed},
    project::{self, Project},
    samples,
    source::{self, DefinedKind},
    versions::{VersionedKind, in_file},
};

/// Renames the group, unless the new one is used.
pub fn run(args: &RenameGroup, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let (old, new) = (&*args.old, args.new.as_str());
    let sources = source::read_files(&project.root)?;
    let kinds = source::project_kinds(&sources);
    let own = |group: &str| -> Vec<&DefinedKind> {
        let of_group = kinds.iter().map(|found| &found.kind);
        of_group
            .filter(|kind| kind.is_own && kind.group == group)
            .collect()
    };
    let moved = own(old);
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
    let mut definitions: Vec<String> = Vec::new();
    for kind in &moved {
        let kind = VersionedKind::find(&project, &sources, &kind.kind)?;
        definitions.push(remove_version::definition(&kind, &project)?.0);
    }
    definitions.sort();
    definitions.dedup();
    let (plan, kept) = plan(&project, old, new, context)?;
    if !kept.is_empty() {
        context.message(format_args!(
            "these name {old} and are not changed:\n{}\n",
            kept.join("\n")
        ))?;
    }
    if !source_edits::apply(&plan, &project, args.write, context)? {
        return Ok(());
    }
    context.message(format_args!(
        "\nnext:\n  kubewright generate  # replaces the CRDs, the permissions and the documentation\n\n\
         clusters that have objects of {old} keep them; for each cluster:\n  \
         kubectl apply --server-side -k manifests  # the new definitions, and the operator of {new}"
    ))?;
    for definition in definitions {
        context.message(format_args!(
            "  kubectl get {definition} -A -o json | jq '.items[] |= (.apiVersion |= sub(\"^[^/]*\"; \"{new}\") | \
             .metadata |= {{name, namespace, labels, annotations}} | del(.status))' | kubectl create -f -\n  \
             kubectl delete {definition} -A --all --cascade=orphan  # check the copies, and remove finalizers of the old operator first\n  \
             kubectl delete crd {definition}"
        ))?;
    }
    Ok(())
}

/// Plans the new group. Also returns the places that name the old one and are not changed.
fn plan(
    project: &Project,
    old: &str,
    new: &str,
    context: &Context<'_>,
) -> Result<(Plan, Vec<String>), Error> {
    let mut plan = Plan::default();
    let (mut kept, mut clashes) = (Vec::new(), Vec::new());
    for path in source::package_files(&project.root)? {
        if path.starts_with(imports::MODULES) {
            continue;
        }
        let before = project.read(&path)?.unwrap_or_default();
        let place = |line| format!("{}:{line}", slashed(&path));
        clashes.extend(source::group_lines(&before, new).into_iter().map(place));
        let after = source::rename_group(&before, old, new).map_err(|error| in_file(&path, error))?;
        kept.extend(lines_with(&after, old).map(place));
        let after = if after == before {
            after
        } else {
            keep_formatted(context, &before, after)
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
    for file in ["README.md", "Cargo.toml"] {
        let text = project.read(file)?.unwrap_or_default();
        kept.extend(lines_with(&text, old).map(|line| format!("{file}:{line}")));
    }
    Ok((plan, kept))
}

/// Returns the numbers of the lines that contain a text.
fn lines_with<'a>(text: &'a str, part: &'a str) -> impl Iterator<Item = usize> + 'a {
    let lines = text.lines().enumerate();
    lines
        .filter(move |(_, line)| line.contains(part))
        .map(|(at, _)| at + 1)
}

//! Refuses definitions that the API server would refuse, with the places in the project's source.

use std::path::Path;

use crate::{
    Error,
    manifests::{
        KindManifest, Manifests,
        definition_check::{self, Problem},
    },
    plan::slashed,
    source::{self, ProjectKind, SourceFile},
};

/// Fails if the API server would refuse or lose what the code defines.
pub(super) fn check(manifests: &Manifests, sources: &[SourceFile]) -> Result<(), Error> {
    let kinds = source::project_kinds(sources);
    let problems = manifests.defined_crds().flat_map(|(kind, crd)| {
        let found = definition_check::problems(kind, crd).into_iter();
        found.map(|problem| with_place(problem, kind, &kinds, sources))
    });
    let problems: Vec<String> = problems.chain(nested_options(sources)).collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(Error::Definitions(problems))
    }
}

/// Returns the problem after the file and the line of the type, or of the kind if the type is not found. A kind of another package has no
/// place.
fn with_place(
    problem: Problem,
    kind: &KindManifest,
    kinds: &[ProjectKind],
    sources: &[SourceFile],
) -> String {
    let Problem {
        version,
        rust_type,
        text,
    } = problem;
    let is_version_of_problem = |found: &&ProjectKind| {
        let found = &found.kind;
        found.group == kind.group && found.kind == kind.kind && found.version == version
    };
    let Some(defined) = kinds.iter().find(is_version_of_problem) else {
        return text;
    };
    let of_type = rust_type.and_then(|name| place_of_type(&name, &defined.path, sources));
    let (path, line) = of_type.unwrap_or((&defined.path, defined.kind.line));
    format!("{}:{line}: {text}", slashed(path))
}

/// Returns the place of a type that a kind uses. Each version may have its own types of the same names: one of the kind's file is taken, or
/// the only one of the other files.
fn place_of_type<'a>(name: &str, kind_file: &Path, sources: &'a [SourceFile]) -> Option<(&'a Path, usize)> {
    let places = source::types_named(sources, name);
    let beside_kind = places.iter().find(|(path, _)| *path == kind_file);
    match (beside_kind, &places[..]) {
        (Some(place), _) | (None, [place]) => Some(*place),
        _ => None,
    }
}

/// Returns the fields of type `Option<Option<T>>` in the project's types of the API, with their places.
fn nested_options(sources: &[SourceFile]) -> impl Iterator<Item = String> + '_ {
    sources.iter().flat_map(|file| {
        source::nested_options(&file.syntax).into_iter().map(|field| {
            format!(
                "{}:{}: field {} of {} is an `Option` in an `Option`, and the API has no value for `Some(None)`: use one `Option`",
                slashed(&file.path),
                field.line,
                field.name,
                field.parent
            )
        })
    })
}

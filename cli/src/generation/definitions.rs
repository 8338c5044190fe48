//! Refuses definitions that the API server would refuse, with the places in the project's source.

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

/// Returns the problem after the file and the line of the field, of its type, or of the kind if these are not found. A kind of another package
/// has no place.
fn with_place(
    problem: Problem,
    kind: &KindManifest,
    kinds: &[ProjectKind],
    sources: &[SourceFile],
) -> String {
    let Problem {
        version,
        rust_type,
        field,
        text,
    } = problem;
    let is_version_of_problem = |found: &&ProjectKind| {
        let found = &found.kind;
        found.group == kind.group && found.kind == kind.kind && found.version == version
    };
    let Some(defined) = kinds.iter().find(is_version_of_problem) else {
        return text;
    };
    let of_type = rust_type.and_then(|name| match field {
        Some(field) => source::field_place(sources, &name, &field, &defined.path),
        None => source::type_place(sources, &name, &defined.path),
    });
    let (path, line) = of_type.unwrap_or((&defined.path, defined.kind.line));
    format!("{}:{line}: {text}", slashed(path))
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

//! Refuses definitions that the API server would refuse, with the places in the project's source.

use std::slice;

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

/// Returns the problem after the file and the line of its struct, or of the kind's if the struct is not in the same file. A kind of another
/// package has no place.
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
    let is_same = |found: &&ProjectKind| {
        let found = &found.kind;
        found.group == kind.group && found.kind == kind.kind && found.version == version
    };
    let Some(defined) = kinds.iter().find(is_same) else {
        return text;
    };
    // Each version has its own types of the same names.
    let file = sources.iter().find(|file| file.path == defined.path);
    let of_type = rust_type
        .zip(file)
        .and_then(|(name, file)| source::defined_type(slice::from_ref(file), &name));
    let line = of_type.map_or(defined.kind.line, |(_, line)| line);
    format!("{}:{line}: {text}", slashed(&defined.path))
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

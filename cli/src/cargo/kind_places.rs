//! The places of the kinds, types and fields that an error of `<operator> manifests` names: the operator does not know where its types are
//! defined.

use std::path::Path;

use regex::Regex;

use crate::{
    plan::slashed,
    source::{self, ProjectKind, SourceFile},
};

/// A field and its type, as in `spec.rules[].hosts of Rule has`.
const FIELD: &str = r"(\S+) of ([A-Z]\w*) has ";

/// Returns a line with the place of each kind of the project's source that the text names, as in `Foo (demo.dev/v1)` or `Foo (demo.dev)`, and
/// of the fields that it names on the same line.
pub(super) fn find(root: &Path, printed: &str) -> Vec<String> {
    source::read_files(root).map_or_else(|_| Vec::new(), |sources| places(&sources, printed))
}

fn places(sources: &[SourceFile], printed: &str) -> Vec<String> {
    let kinds = source::project_kinds(sources).into_iter();
    let named = kinds.flat_map(|found| {
        let kind = &found.kind;
        let of_group = format!("{} ({})", kind.kind, kind.group);
        let of_version = format!("{} ({}/{})", kind.kind, kind.group, kind.version);
        let Some(name) = [of_version, of_group]
            .into_iter()
            .find(|name| contains_name(printed, name))
        else {
            return Vec::new();
        };
        let mut lines = vec![format!("{}: {name} is defined here", found.place())];
        lines.extend(fields(sources, &found, &name, printed));
        lines
    });
    named.collect()
}

/// Returns the places of the fields in the lines that name the kind.
fn fields(sources: &[SourceFile], kind: &ProjectKind, name: &str, printed: &str) -> Vec<String> {
    let Ok(pattern) = Regex::new(FIELD) else {
        return Vec::new();
    };
    let lines = printed.lines().filter(|line| contains_name(line, name));
    let found = lines
        .flat_map(|line| pattern.captures_iter(line))
        .filter_map(|found| {
            let (_, [field, ty]) = found.extract();
            let place = source::field_place(sources, ty, field, &kind.path);
            let (path, line) = place?;
            Some(format!("{}:{line}: {field} of {ty} is here", slashed(path)))
        });
    found.collect()
}

/// Whether the text contains the name, and not as the end of a longer one.
fn contains_name(text: &str, name: &str) -> bool {
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "
#[derive(CustomResource, Informer)]
#[kube(group = \"demo.dev\", version = \"v1\", kind = \"Foo\")]
struct FooSpec {
    #[schemars(extend(\"x-kubernetes-list-typ\" = \"set\"))]
    host_names: Vec<String>,
    #[serde(rename = \"port-names\")]
    ports: Vec<String>,
}
struct Rule {
    size: i32,
}
";

    #[test]
    fn kinds_and_fields_have_their_places() {
        let sources = [SourceFile {
            path: "src/api/foo.rs".into(),
            syntax: syn::parse_file(CODE).unwrap(),
        }];
        let printed = "error: kind Foo (demo.dev/v1) has a schema that Kubernetes does not accept: spec.hostNames of FooSpec has the unknown \
                       keyword `x`: remove it; spec.port-names of FooSpec has the unknown keyword `x`: remove it; \
                       spec.rules[].size of Rule has the unknown keyword `y`: remove it\nspec.rules[].size of Rule has";
        // An operator's first words may be others.
        let lines = places(&sources, &printed.replace("kind Foo", "Foo"));
        assert_eq!(
            lines,
            [
                "src/api/foo.rs:4: Foo (demo.dev/v1) is defined here",
                "src/api/foo.rs:6: spec.hostNames of FooSpec is here",
                "src/api/foo.rs:8: spec.port-names of FooSpec is here",
                "src/api/foo.rs:11: spec.rules[].size of Rule is here",
            ]
        );
    }
}

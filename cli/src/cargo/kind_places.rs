//! The places of the kinds that an error of `<operator> manifests` names: the operator does not know where its types are defined.

use std::path::Path;

use crate::source;

/// Returns a line with the place of each kind of the project's source that the text names, as in `Foo (demo.dev/v1)` or `Foo (demo.dev)`.
pub(super) fn find(root: &Path, printed: &str) -> Vec<String> {
    let Ok(sources) = source::read_files(root) else {
        return Vec::new();
    };
    let kinds = source::project_kinds(&sources).into_iter();
    let named = kinds.filter_map(|found| {
        let kind = &found.kind;
        let of_group = format!("{} ({})", kind.kind, kind.group);
        let of_version = format!("{} ({}/{})", kind.kind, kind.group, kind.version);
        let name = [of_version, of_group]
            .into_iter()
            .find(|name| contains_name(printed, name))?;
        Some(format!("{}: {name} is defined here", found.place()))
    });
    named.collect()
}

/// Whether the text contains the name, and not as the end of a longer one.
fn contains_name(text: &str, name: &str) -> bool {
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric))
}

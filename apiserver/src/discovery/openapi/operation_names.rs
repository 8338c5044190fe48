//! The names of operations: ids, tags, the nouns of their descriptions, and the paths of their documents.

use crate::kinds::Kind;

/// Returns the path of the document of a group and version, or of a group.
pub(super) fn document_path(kind: &Kind) -> String {
    if kind.group.is_empty() {
        format!("api/{}", kind.version)
    } else {
        format!("apis/{}/{}", kind.group, kind.version)
    }
}

/// Returns the article of a noun between spaces; plurals have none.
pub(super) fn article(noun: &str) -> &'static str {
    if noun.ends_with('s') && !noun.ends_with("ss") {
        " "
    } else if noun.starts_with(['A', 'E', 'I', 'O', 'U']) {
        " an "
    } else {
        " a "
    }
}

/// Group and version in operation ids: `CoreV1`, `RbacAuthorizationV1`.
pub(super) fn id_prefix(kind: &Kind) -> String {
    format!(
        "{}{}",
        joined(group_label(&kind.group), true),
        joined(&kind.version, true)
    )
}

/// The tag of the operations of a group and version: `core_v1`, `rbacAuthorization_v1`.
pub(super) fn tag(kind: &Kind) -> String {
    format!(
        "{}_{}",
        joined(group_label(&kind.group), false),
        joined(&kind.version, false)
    )
}

/// Returns the group as it stands in operation ids and tags.
pub(super) fn group_label(group: &str) -> &str {
    match group {
        "" => "core",
        group => group.strip_suffix(".k8s.io").unwrap_or(group),
    }
}

/// Joins the words of a name in camel case.
pub(super) fn joined(name: &str, starts_upper: bool) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .enumerate()
        .map(|(at, word)| {
            if at == 0 && !starts_upper {
                word.to_owned()
            } else {
                capitalized(word)
            }
        })
        .collect()
}

pub(super) fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

//! What a new version of the libraries changes for the code and tests that use them: [`upgrade`](super::upgrade) applies or lists it.
//!
//! What changed is a table: [`library_change_table`](super::library_change_table).

use std::collections::BTreeSet;

use cargo_metadata::semver::Version;

use super::library_change_table::{
    ChangedMethod, METHODS, MOVED_MODULES, MovedModule, RENAMES, RUNTIME, RenamedItem,
};
use crate::source::{self, InsertError, Rename, Renamed};

/// A file of the project after the changes.
#[derive(Debug)]
pub(super) struct ChangedFile {
    /// The text.
    pub(super) text: String,
    /// What changed.
    pub(super) notes: Vec<String>,
    /// What the user must decide: lines with advice.
    pub(super) undecided: Vec<(usize, String)>,
}

/// Applies what changed between two versions to a file.
pub(super) fn apply(text: &str, from: &Version, to: &Version) -> Result<ChangedFile, InsertError> {
    let is_new =
        |release: &str| Version::parse(release).is_ok_and(|release| *from < release && release <= *to);
    let mut file = ChangedFile {
        text: text.to_owned(),
        notes: Vec::new(),
        undecided: Vec::new(),
    };
    // The other crates' names are usual words: only a file that names the crate is searched for them.
    let may_use = |krate: &str| krate == RUNTIME || text.contains(krate);
    let renames = RENAMES
        .iter()
        .filter(|item| is_new(item.release) && may_use(item.krate));
    for RenamedItem { krate, rename, .. } in renames {
        let Renamed { text, undecided } = source::rename_item(&file.text, krate, rename)?;
        let Rename { old, new, .. } = rename;
        if text != file.text {
            file.notes.push(format!("{old} → {new}"));
            file.text = text;
        }
        let advice = format!("`{old}` is `{new}` now, if it is {krate}'s");
        file.undecided
            .extend(undecided.into_iter().map(|line| (line, advice.clone())));
    }
    let methods = METHODS
        .iter()
        .filter(|changed| is_new(changed.release) && may_use(changed.krate));
    for ChangedMethod { method, advice, .. } in methods {
        let lines = source::call_lines(&file.text, method);
        file.undecided
            .extend(lines.into_iter().map(|line| (line, (*advice).to_owned())));
    }
    let modules = MOVED_MODULES
        .iter()
        .filter(|moved| is_new(moved.release) && may_use(moved.krate));
    for MovedModule { module, advice, .. } in modules {
        let lines = source::word_lines(&file.text, &BTreeSet::from([*module]));
        file.undecided
            .extend(lines.into_iter().map(|line| (line, (*advice).to_owned())));
    }
    file.undecided.sort();
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "use kubewright::prelude::*;\n\nasync fn reconcile(key: &ObjectName) -> Action {\n    \
                        builder.wakes_on(stream);\n    Action::done()\n}\n";

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn changes_between_the_versions_are_applied_or_listed() {
        let file = apply(CODE, &version("0.1.0-alpha.2"), &version("0.1.0")).unwrap();
        let expected = CODE
            .replace("ObjectName", "NamespacedName")
            .replace("done()", "await_change()");
        assert_eq!(file.text, expected);
        assert_eq!(file.notes, ["ObjectName → NamespacedName", "done → await_change"]);
        let advice = "`.wakes_on(…)` is `.watches_stream(…)` now".to_owned();
        assert_eq!(file.undecided, [(4, advice)]);
        let again = apply(&file.text, &version("0.1.0-alpha.2"), &version("0.1.0")).unwrap();
        assert_eq!((again.text, again.notes.len()), (file.text, 0));
    }

    #[test]
    fn tests_are_searched_for_what_testkit_changed() {
        let code = "use kubewright_testkit::{Cluster, Fault, Matching};\n\nfn test(cluster: &Cluster) {\n    \
                    cluster.install(&foo);\n    cluster.fail(Matching::default(), Fault::BreakBefore);\n}\n";
        let change = |text: &str| apply(text, &version("0.1.0-alpha.2"), &version("0.1.0")).unwrap();
        let file = change(code);
        let expected = code
            .replace("Matching", "RequestMatcher")
            .replace("BreakBefore", "DropRequest");
        assert_eq!(file.text, expected);
        let advice = "`.install(…)` is `.install_crd(…)` now, if it is Cluster's".to_owned();
        assert_eq!(file.undecided, [(4, advice)]);
        let other = code.replace("kubewright_testkit", "other");
        let file = change(&other);
        assert_eq!((file.text, file.undecided), (other, vec![]));
    }

    #[test]
    fn code_is_searched_for_what_the_api_server_changed() {
        let code = "use kubewright_apiserver::{Builder, http::{Answer, Next}};\nuse kubewright_testkit::control_plane_build::build;\n\n\
                    fn serve(builder: Builder, next: Next) -> Answer {\n    builder.audited(3);\n    next.run()\n}\n";
        let change = |text: &str| apply(text, &version("0.1.0-alpha.2"), &version("0.1.0")).unwrap();
        let file = change(code);
        let expected = code
            .replace("Builder", "ApiServerBuilder")
            .replace("Answer", "ApiResponse")
            .replace("Next", "ResponseFuture");
        assert_eq!(file.text, expected);
        let lines: Vec<_> = file.undecided.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [2, 5], "{:?}", file.undecided);
        let other = "use other::Builder;\n\nfn f(_: Builder, _: http::Answer) {}\n";
        let file = change(other);
        assert_eq!((&*file.text, file.undecided), (other, vec![]));
    }

    /// Returns the pairs of old and new names in the section about renamed items; a new name is missing where one stands for several.
    fn renamed_in_changelog() -> Vec<(String, Option<String>)> {
        let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../CHANGELOG.md"));
        let (_, section) = text.split_once("\nRenamed public items").unwrap();
        // The next heading does not start as items of the list do.
        let lines = section.lines().skip(1);
        let lines = lines.take_while(|line| line.is_empty() || line.starts_with(['-', ' ']));
        let section = lines.collect::<Vec<_>>().join("\n");
        let section = section.replace("\n- ", ";").replace("\n  ", " ");
        let mut pairs = Vec::new();
        for clause in section.split(';') {
            let mut parts = clause.split(" → ");
            let mut before = names(parts.next().unwrap());
            for part in parts {
                let mut after = names(part);
                let rest = after.split_off(before.len().min(after.len()));
                let mut after = after.into_iter();
                pairs.extend(before.into_iter().map(|old| (old, after.next())));
                before = rest;
            }
        }
        pairs
    }

    /// Returns the names in a text's code, without those before a colon, which name a crate or module.
    fn names(text: &str) -> Vec<String> {
        let mut names = Vec::new();
        let parts: Vec<&str> = text.split('`').collect();
        for (index, code) in parts.iter().enumerate().skip(1).step_by(2) {
            if parts.get(index + 1).is_some_and(|next| next.starts_with(':')) {
                continue;
            }
            let (_, list) = code.rsplit_once('{').unwrap_or(("", code));
            for name in list.trim_end_matches('}').split(',') {
                let name = name.split('(').next().unwrap_or(name);
                let name = name.rsplit("::").next().unwrap_or(name);
                names.push(name.trim().trim_start_matches('.').to_owned());
            }
        }
        names
    }

    #[test]
    fn every_renamed_item_of_the_changelog_is_in_the_table() {
        let pairs = renamed_in_changelog();
        assert!(pairs.len() > 60, "{pairs:?}");
        for (old, new) in &pairs {
            // A field in the JSON of `manifests`, which no code names.
            if old == "place" {
                continue;
            }
            let is_new = |found: &str| new.as_ref().is_none_or(|new| found.contains(&**new));
            let is_renamed = RENAMES
                .iter()
                .any(|item| item.rename.old == old && new.as_deref() == Some(item.rename.new));
            let is_changed = METHODS
                .iter()
                .any(|changed| changed.method == old && is_new(changed.advice));
            let is_moved = MOVED_MODULES
                .iter()
                .any(|moved| moved.module == old && is_new(moved.advice));
            assert!(
                is_renamed || is_changed || is_moved,
                "{old} → {new:?} is not in the table"
            );
        }
    }

    #[test]
    fn changes_of_other_releases_are_not_applied() {
        for (from, to) in [("0.1.0", "0.2.0"), ("0.0.1", "0.0.2")] {
            let file = apply(CODE, &version(from), &version(to)).unwrap();
            assert_eq!((&*file.text, file.undecided.len()), (CODE, 0));
        }
    }
}

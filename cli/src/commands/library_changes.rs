//! What a new version of the libraries changes for the code and tests that use them: [`upgrade`](super::upgrade) applies or lists it.
//!
//! What changed is a table: [`library_change_table`](super::library_change_table).

use cargo_metadata::semver::Version;

use super::library_change_table::{ChangedMethod, METHODS, RENAMES, RenamedItem, TESTKIT};
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
    // Testkit's names are usual words: only a file that names the crate is searched for them.
    let may_use = |krate: &str| krate != TESTKIT || text.contains(TESTKIT);
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
    fn changes_of_other_releases_are_not_applied() {
        for (from, to) in [("0.1.0", "0.2.0"), ("0.0.1", "0.0.2")] {
            let file = apply(CODE, &version(from), &version(to)).unwrap();
            assert_eq!((&*file.text, file.undecided.len()), (CODE, 0));
        }
    }
}

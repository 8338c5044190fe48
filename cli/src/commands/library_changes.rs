//! What a new version of the library changes for the code that uses it: [`upgrade`](super::upgrade) applies or lists it.
//!
//! A release adds its lines; lines of releases from which nobody upgrades any more can go.

use cargo_metadata::semver::Version;

use crate::source::{self, InsertError, Rename, Renamed};

/// The library's crate name.
const CRATE: &str = "kubewright";

/// Renamed items, each with the release that has the new name.
const RENAMES: [(&str, Rename<'static>); 13] = [
    (
        "0.1.0",
        rename("ObjectName", "NamespacedName", &[CRATE, "prelude"]),
    ),
    (
        "0.1.0",
        rename("ObjectNameError", "NamespacedNameError", &[CRATE, "prelude"]),
    ),
    ("0.1.0", rename("KindInfo", "ApiResource", &[CRATE, "prelude"])),
    (
        "0.1.0",
        rename("ControllerSpec", "ControllerBuilder", &["controller", "prelude"]),
    ),
    ("0.1.0", rename("Listed", "ObjectList", &["client", "prelude"])),
    ("0.1.0", rename("Done", "AwaitChange", &["Action"])),
    ("0.1.0", rename("done", "await_change", &["Action"])),
    ("0.1.0", rename("After", "RequeueAfter", &["Action"])),
    ("0.1.0", rename("after", "requeue_after", &["Action"])),
    ("0.1.0", rename("Again", "Requeue", &["Action"])),
    ("0.1.0", rename("again", "requeue", &["Action"])),
    ("0.1.0", rename("Skip", "Ignore", &["OwnEvents"])),
    ("0.1.0", rename("Wake", "Enqueue", &["OwnEvents"])),
];

/// Methods that changed, each with the release and the advice. The tree does not know the type on which a method is called.
const METHODS: [(&str, &str, &str); 2] = [
    ("0.1.0", "wakes_on", "`.wakes_on(…)` is `.watches_stream(…)` now"),
    (
        "0.1.0",
        "when",
        "`.when(predicate)` is `Source::of(&informer).with_predicate(predicate)` now, if it is the controller's",
    ),
];

const fn rename(old: &'static str, new: &'static str, parents: &'static [&'static str]) -> Rename<'static> {
    Rename { old, new, parents }
}

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
    for (_, rename) in RENAMES.iter().filter(|(release, _)| is_new(release)) {
        let Renamed { text, undecided } = source::rename_item(&file.text, CRATE, rename)?;
        let Rename { old, new, .. } = rename;
        if text != file.text {
            file.notes.push(format!("{old} → {new}"));
            file.text = text;
        }
        let advice = format!("`{old}` is `{new}` now, if it is kubewright's");
        file.undecided
            .extend(undecided.into_iter().map(|line| (line, advice.clone())));
    }
    for (_, method, advice) in METHODS.iter().filter(|(release, ..)| is_new(release)) {
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
    fn changes_of_other_releases_are_not_applied() {
        for (from, to) in [("0.1.0", "0.2.0"), ("0.0.1", "0.0.2")] {
            let file = apply(CODE, &version(from), &version(to)).unwrap();
            assert_eq!((&*file.text, file.undecided.len()), (CODE, 0));
        }
    }
}

//! The cases: data, in `cases/`, and what the real server answered, in `recorded/`.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Requests in order. `${ns}` in any of them is a namespace that only this case has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// Which of the promises it is about: 1 kinds, 2 semantics, 3 patches, 4 definitions, 5 built-in kinds, 6 access, 7 discovery and kubectl.
    pub(crate) about: u8,
    pub(crate) steps: Vec<Step>,
}

/// One request, or one command of kubectl.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Option<Value>,
    /// A body that is no JSON.
    pub(crate) text: Option<String>,
    #[serde(rename = "type")]
    pub(crate) content_type: Option<String>,
    pub(crate) accept: Option<String>,
    /// Further headers; a text of several lines is as many of that name.
    pub(crate) headers: BTreeMap<String, String>,
    /// Who asks, if not the administrator: alice, nobody, or whose token it is.
    pub(crate) r#as: Option<String>,
    /// Asked again and again, until the answer has that code.
    pub(crate) until: Option<u16>,
    /// Of a watch: how many events are read; 0 is all until the server ends it. Of kubectl: how many lines it may print, then it is ended.
    pub(crate) events: Option<usize>,
    /// Before the request, the server's storage forgets all versions but the newest.
    pub(crate) compact: bool,
    /// Names for texts that are too long to be written here: a text, and how often it is repeated.
    pub(crate) repeat: BTreeMap<String, (String, usize)>,
    /// What is compared of a long answer: a pointer, in which an item of a list may go by its name.
    pub(crate) pick: Option<String>,
    /// What is asked from the side when kubectl has printed its first line.
    pub(crate) meanwhile: Vec<Step>,
    /// Arguments of kubectl, instead of a request.
    pub(crate) kubectl: Option<Vec<String>>,
    /// Names for what stands at pointers in the answer: `${name}` in later steps.
    pub(crate) save: BTreeMap<String, String>,
    /// Why the embedded server answers otherwise.
    pub(crate) differs: Option<String>,
    /// Names of items that only the real server's answer has, or their beginning and `*`: that is all in which it differs.
    pub(crate) lacks: Vec<String>,
}

impl Step {
    /// The request as text.
    pub(crate) fn title(&self) -> String {
        match &self.kubectl {
            Some(arguments) => format!("kubectl {}", arguments.join(" ")),
            None => format!("{} {}", self.method, self.path),
        }
    }
}

/// A file of cases, by its name.
pub(crate) struct Suite {
    pub(crate) name: String,
    pub(crate) cases: Vec<Case>,
}

/// All files, in the order of their names.
pub(crate) fn suites() -> Vec<Suite> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder().join("cases"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let suites = files.iter().map(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        let cases = serde_json::from_str(&text);
        Suite {
            name: file.file_stem().unwrap().to_string_lossy().into_owned(),
            cases: cases.unwrap_or_else(|error| panic!("{}: {error}", file.display())),
        }
    });
    suites.collect()
}

/// The folder of this suite.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/differential")
}

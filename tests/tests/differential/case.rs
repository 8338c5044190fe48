//! The cases, read from `cases/`.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Requests in order. `${ns}` in a request stands for a namespace that only this case uses, `${webhook}` for the address of the webhook
/// server, `${port}` for its port and `${ca}` for its CA bundle.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// The tested area: 1 kinds, 2 semantics, 3 patches, 4 CRDs, 5 built-in kinds, 6 access, 7 discovery and kubectl.
    pub(crate) about: u8,
    pub(crate) steps: Vec<Step>,
}

/// One request, or one kubectl command.
#[expect(
    clippy::struct_excessive_bools,
    reason = "a step is written as JSON, and most have none of the keys"
)]
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Option<Value>,
    /// A body that is not JSON; for kubectl, its standard input.
    pub(crate) text: Option<String>,
    #[serde(rename = "type")]
    pub(crate) content_type: Option<String>,
    pub(crate) accept: Option<String>,
    /// Further headers. A value of several lines sends the header several times.
    pub(crate) headers: BTreeMap<String, String>,
    /// The user, if not the administrator: `alice`, `nobody` (an invalid token), or a token.
    pub(crate) r#as: Option<String>,
    /// Repeats the request until the response has this status code, and the part that `pick` names.
    pub(crate) until: Option<u16>,
    /// With `until`: the value that the part becomes.
    pub(crate) becomes: Option<Value>,
    /// For a watch: the number of events to read; 0 reads until the server ends the watch. For kubectl: the number of lines to read before
    /// it is killed.
    pub(crate) events: Option<usize>,
    /// Sends the request when the garbage collector has seen all config maps and jobs that exist: it orphans only the dependents that it knows.
    pub(crate) after_collector: bool,
    /// Compacts the server's history before the request.
    pub(crate) compact: bool,
    /// Variables for long texts: a text and how often it is repeated.
    pub(crate) repeat: BTreeMap<String, (String, usize)>,
    /// Responses of the webhook server from this step on, by path: see `webhook.rs`. Forgets the reviews so far.
    pub(crate) webhooks: BTreeMap<String, Value>,
    /// Returns the reviews that the webhook server got since the last such step or the last change of its responses, instead of sending a request.
    pub(crate) reviews: bool,
    /// A JSON pointer to the part of a long response that is compared, which must exist unless the response is an error. A list item may be
    /// given by its name.
    pub(crate) pick: Option<String>,
    /// Only the status code is compared.
    pub(crate) status_only: bool,
    /// Headers of the response: only the status code and these are compared.
    pub(crate) shows: Vec<String>,
    /// Only the status code, the headers, API version and kind, and the reason and message of an error are compared.
    pub(crate) summary: bool,
    /// Requests that are sent when kubectl has printed its first line.
    pub(crate) meanwhile: Vec<Step>,
    /// Arguments of a kubectl command, which runs instead of a request.
    pub(crate) kubectl: Option<Vec<String>>,
    /// Variables, by name, that are set from JSON pointers into the response; later steps use them as `${name}`.
    pub(crate) save: BTreeMap<String, String>,
    /// Why the embedded server responds differently.
    pub(crate) differs: Option<String>,
    /// Items that only the real server's response contains: names (or prefixes followed by `*`) by the JSON pointer of their list. There
    /// must be no other difference.
    pub(crate) lacks: BTreeMap<String, Vec<String>>,
}

impl Step {
    /// Returns the request as text, for messages.
    pub(crate) fn title(&self) -> String {
        if self.reviews {
            return "reviews".to_owned();
        }
        match &self.kubectl {
            Some(arguments) => format!("kubectl {}", arguments.join(" ")),
            None => format!("{} {}", self.method, self.path),
        }
    }
}

/// A file of cases.
pub(crate) struct Suite {
    pub(crate) name: String,
    pub(crate) cases: Vec<Case>,
}

/// Reads all suites, sorted by name.
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

/// Returns the folder of the differential tests.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/differential")
}

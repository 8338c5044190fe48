//! The error of `--objects`.

// ANCHOR: errors
/// A name in `--objects` that no watched kind has.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "nothing called {name:?} is watched: {}--objects may name {}",
    similar.as_ref().map(|similar| format!("did you mean {similar}? ")).unwrap_or_default(),
    watched.join(", ")
)]
pub struct UnknownObjects {
    pub(crate) name: String,
    pub(crate) similar: Option<String>,
    pub(crate) watched: Vec<String>,
}
// ANCHOR_END: errors

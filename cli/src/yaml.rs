//! Reading and writing of YAML.
//!
//! The writer quotes strings that YAML 1.1 parses as another type (`on`, `yes`, `1:30`): kubectl still reads YAML 1.1.

mod lines;

use serde::Serialize;
use serde_json::Value;
use serde_saphyr::budget::BudgetBreach;

use lines::MAX_DEPTH;
pub use lines::{Document, documents};

// ANCHOR: errors
/// Error of reading or writing YAML.
#[derive(Debug, thiserror::Error)]
pub enum YamlError {
    /// The text does not parse.
    #[error("{}", short_message(.0))]
    Read(#[from] Box<serde_saphyr::Error>),
    /// The value does not serialize.
    #[error("{0}")]
    Write(#[from] serde_saphyr::SerializeError),
}
// ANCHOR_END: errors

impl YamlError {
    /// Returns the line of the error in the text, if it has one.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Read(error) => error.location().map(|location| location.line()),
            Self::Write(_) => None,
        }
    }
}

/// Returns the parser's message without the place, which it repeats in several forms, and without advice for its callers.
fn short_message(error: &serde_saphyr::Error) -> String {
    let error = error.without_snippet();
    let text = error.to_string();
    let is_deep = matches!(
        error,
        serde_saphyr::Error::Budget {
            breach: BudgetBreach::Depth { .. },
            ..
        }
    );
    // The scanner has a limit of its own.
    if is_deep || text.starts_with("recursion limit exceeded") {
        return format!("lists and maps are nested deeper than {MAX_DEPTH} levels");
    }
    let mut parts = [" at line ", ", set DuplicateKeyPolicy"].into_iter();
    let message = parts.try_fold(&*text, |text, part| text.split(part).next());
    message.unwrap_or(&text).to_owned()
}

/// Serializes one document; it ends with a line break.
pub fn write(value: &impl Serialize) -> Result<String, YamlError> {
    let mut text = String::new();
    // Block scalars leave trailing blanks, and other parsers cannot read some of them.
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_fmt_writer_with_options(&mut text, value, options)?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// Serializes several documents, separated by `---`.
pub fn write_all<T: Serialize>(values: &[T]) -> Result<String, YamlError> {
    let documents = values.iter().map(write).collect::<Result<Vec<_>, _>>()?;
    Ok(documents.join("---\n"))
}

/// Parses all documents of a text; empty ones are left out.
pub fn read_all(text: &str) -> Result<Vec<Value>, YamlError> {
    Ok(documents(text)?
        .into_iter()
        .map(|document| document.value)
        .collect())
}

#[cfg(test)]
#[path = "yaml_tests.rs"]
mod tests;

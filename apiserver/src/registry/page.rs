//! Continue tokens: where a page ended, and of which moment the list is.

use crate::status::ApiError;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{DecodeError, Engine as _};
use serde_json::{Value, json};

/// Where a page ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Of which moment; None for now, whatever the first page was.
    pub(super) revision: Option<u64>,
    /// The last key of the page.
    pub(super) after: String,
}

impl Token {
    pub(super) fn write(&self) -> String {
        let revision = self.revision.map_or(json!(-1), |revision| json!(revision));
        let token = json!({ "v": "meta.k8s.io/v1", "rv": revision, "start": format!("/{}\0", self.after) });
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    pub(super) fn read(text: &str) -> Result<Self, ApiError> {
        let refuse = |why: &str| {
            ApiError::bad_request(format!(
                "invalid continue token: continue key is not valid: {why}"
            ))
        };
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|error| {
            let at = match error {
                DecodeError::InvalidByte(at, _) => at,
                _ => text.len() / 4 * 4,
            };
            refuse(&format!("illegal base64 data at input byte {at}"))
        })?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|_| {
            let first = String::from_utf8_lossy(&bytes).chars().next().unwrap_or(' ');
            refuse(&format!(
                "invalid character '{first}' looking for beginning of value"
            ))
        })?;
        if value["v"] != "meta.k8s.io/v1" {
            let version = value["v"].as_str().unwrap_or_default();
            return Err(refuse(&format!(
                "server does not recognize this encoded version {version:?}"
            )));
        }
        let start = value["start"].as_str().filter(|start| start.starts_with('/'));
        let start = start.ok_or_else(|| refuse("encoded start key empty (version meta.k8s.io/v1)"))?;
        let revision = match value["rv"].as_i64() {
            Some(-1) => None,
            Some(revision) if revision > 0 => u64::try_from(revision).ok(),
            _ => {
                return Err(refuse(
                    "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
                ));
            }
        };
        Ok(Self {
            revision,
            after: start[1..].trim_end_matches('\0').to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_survive() {
        for revision in [None, Some(7)] {
            let token = Token {
                revision,
                after: "a/b".to_owned(),
            };
            assert_eq!(Token::read(&token.write()).unwrap(), token);
        }
        for bad in ["abc", "!", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"] {
            assert_eq!(Token::read(bad).unwrap_err().code, 400, "{bad}");
        }
    }
}

//! Continue tokens of paged lists: the last key of the page and the resource version of the list.

use crate::status::ApiError;
use crate::types;
use base64::alphabet::URL_SAFE;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{NO_PAD, URL_SAFE_NO_PAD};
use base64::{DecodeError, Engine as _};
use serde_json::json;

/// Ignores the bits that remain behind the last byte, as Go does.
const LENIENT: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// A decoded continue token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContinueToken {
    /// The resource version of the list; None continues at the newest version, an inconsistent list.
    pub(crate) revision: Option<u64>,
    /// The last key of the page.
    pub(crate) after: String,
}

impl ContinueToken {
    pub(crate) fn encode(&self) -> String {
        let revision = self.revision.map_or(json!(-1), |revision| json!(revision));
        let token = json!({ "v": "meta.k8s.io/v1", "rv": revision, "start": format!("/{}\0", self.after) });
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    pub(crate) fn decode(text: &str) -> Result<Self, ApiError> {
        let invalid_token = |why: &str| {
            ApiError::bad_request(format!(
                "invalid continue token: continue key is not valid: {why}"
            ))
        };
        let bytes = LENIENT.decode(text).map_err(|error| {
            let at = match error {
                DecodeError::InvalidByte(at, _) => at,
                _ => text.len() / 4 * 4,
            };
            invalid_token(&format!("illegal base64 data at input byte {at}"))
        })?;
        let value = types::decode(&bytes).map_err(|why| invalid_token(&why))?.value;
        if value["v"] != "meta.k8s.io/v1" {
            let version = value["v"].as_str().unwrap_or_default();
            return Err(invalid_token(&format!(
                "server does not recognize this encoded version {version:?}"
            )));
        }
        let start = value["start"].as_str().filter(|start| start.starts_with('/'));
        let start = start.ok_or_else(|| invalid_token("encoded start key empty (version meta.k8s.io/v1)"))?;
        let revision = match value["rv"].as_i64() {
            Some(-1) => None,
            Some(revision) if revision > 0 => u64::try_from(revision).ok(),
            _ => {
                return Err(invalid_token(
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
    fn continue_tokens_round_trip() {
        for revision in [None, Some(7)] {
            let token = ContinueToken {
                revision,
                after: "a/b".to_owned(),
            };
            assert_eq!(ContinueToken::decode(&token.encode()).unwrap(), token);
        }
        for bad in ["abc", "!", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"] {
            assert_eq!(ContinueToken::decode(bad).unwrap_err().code, 400, "{bad}");
        }
    }
}

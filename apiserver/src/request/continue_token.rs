//! Continue tokens of paged lists: where the next page starts and the resource version of the list.

use crate::status::ApiError;
use crate::types::{self, json_kind};
use base64::alphabet::URL_SAFE;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{NO_PAD, URL_SAFE_NO_PAD};
use base64::{DecodeError, Engine as _};
use serde_json::Value;

/// Ignores the bits that remain behind the last byte, as Go does.
const LENIENT: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

const VERSION: &str = "meta.k8s.io/v1";

/// A decoded continue token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContinueToken {
    /// The resource version of the list; None continues at the newest version, an inconsistent list.
    pub(crate) revision: Option<u64>,
    /// The first possible key of the next page, without the prefix of all keys of the list.
    pub(crate) start: String,
}

impl ContinueToken {
    /// The token of a list that continues after the object with this key.
    pub(crate) fn after(key: &str, revision: u64) -> Self {
        Self {
            revision: Some(revision),
            start: format!("{key}\0"),
        }
    }

    pub(crate) fn encode(&self) -> String {
        let revision = self
            .revision
            .map_or("-1".to_owned(), |revision| revision.to_string());
        let start = Value::from(format!("/{}", self.start));
        URL_SAFE_NO_PAD.encode(format!(r#"{{"v":"{VERSION}","rv":{revision},"start":{start}}}"#))
    }

    pub(crate) fn decode(text: &str) -> Result<Self, ApiError> {
        Self::try_decode(text).map_err(|why| {
            ApiError::bad_request(format!("invalid continue token: continue key is not valid{why}"))
        })
    }

    fn try_decode(text: &str) -> Result<Self, String> {
        let bytes = LENIENT.decode(text).map_err(|error| {
            let at = match error {
                DecodeError::InvalidByte(at, _) => at,
                _ => text.len() / 4 * 4,
            };
            format!(": illegal base64 data at input byte {at}")
        })?;
        let value = types::decode(&bytes).map_err(|why| format!(": {why}"))?.value;
        let fields = Fields::of(&value).map_err(|why| format!(": json: cannot unmarshal {why}"))?;
        if fields.version != VERSION {
            return Err(format!(
                ": server does not recognize this encoded version {}",
                fields.version
            ));
        }
        if fields.revision == 0 {
            return Err(format!(
                ": incorrect encoded start resourceVersion (version {VERSION})"
            ));
        }
        let sent = fields.start;
        if sent.is_empty() {
            return Err(format!(": encoded start key empty (version {VERSION})"));
        }
        let start = sent.strip_prefix('/').unwrap_or(sent);
        let is_clean = start.is_empty() || !start.split('/').any(|part| matches!(part, "" | "." | ".."));
        if !is_clean {
            return Err(format!(": {sent}"));
        }
        Ok(Self {
            revision: u64::try_from(fields.revision).ok(),
            start: start.to_owned(),
        })
    }
}

/// The fields of a token, as Go decodes them.
#[derive(Default)]
struct Fields<'v> {
    version: &'v str,
    revision: i64,
    start: &'v str,
}

impl<'v> Fields<'v> {
    /// Returns what could not be decoded as an error.
    fn of(value: &'v Value) -> Result<Self, String> {
        let mut fields = Self::default();
        let object = match value {
            Value::Null => return Ok(fields),
            Value::Object(object) => object,
            other => {
                let found = json_kind(other);
                return Err(format!("{found} into Go value of type storage.continueToken"));
            }
        };
        for (name, value) in object.iter().filter(|(_, value)| !value.is_null()) {
            let mismatch = |field: &str, ty: &str| {
                let mut found = json_kind(value).to_owned();
                if let (Value::Number(number), "int64") = (value, ty) {
                    found = format!("number {number}");
                }
                format!("{found} into Go struct field continueToken.{field} of type {ty}")
            };
            // Go ignores the case of names.
            match name.to_lowercase().as_str() {
                "v" => fields.version = value.as_str().ok_or_else(|| mismatch("v", "string"))?,
                "rv" => fields.revision = value.as_i64().ok_or_else(|| mismatch("rv", "int64"))?,
                "start" => fields.start = value.as_str().ok_or_else(|| mismatch("start", "string"))?,
                _ => {}
            }
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn continue_tokens_round_trip() {
        for revision in [None, Some(7)] {
            let token = ContinueToken {
                revision,
                start: "a/b\0".to_owned(),
            };
            assert_eq!(ContinueToken::decode(&token.encode()).unwrap(), token);
        }
        for bad in ["abc", "!", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"] {
            assert_eq!(ContinueToken::decode(bad).unwrap_err().code, 400, "{bad}");
        }
    }

    #[test]
    fn start_keys_of_tokens_are_clean_paths() {
        let decode = |start: &str| {
            let token = json!({ "v": VERSION, "rv": -5, "start": start }).to_string();
            ContinueToken::decode(&URL_SAFE_NO_PAD.encode(token)).map(|token| token.start)
        };
        for (sent, start) in [("a", "a"), ("/a/b", "a/b"), ("/", "")] {
            assert_eq!(decode(sent).unwrap(), start);
        }
        for bad in ["", "a/", "a//b", "a/../b", "//", "./a"] {
            assert_eq!(decode(bad).unwrap_err().code, 400, "{bad}");
        }
    }
}

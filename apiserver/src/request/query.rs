//! The query of a URL.

/// The parameters of a query in their order; keys may repeat.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Parses a query. Never fails: parameters with malformed escapes are left out.
    pub fn parse(text: &str) -> Self {
        let pairs = text
            .split('&')
            .filter(|pair| !pair.is_empty() && has_valid_escapes(pair));
        Self(
            pairs
                .map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decode(key, true), decode(value, true))
                })
                .collect(),
        )
    }

    /// Returns the first value of a key; empty if the key is missing.
    pub fn get(&self, key: &str) -> &str {
        self.values(key).next().unwrap_or_default()
    }

    /// True if the key is present.
    pub fn has(&self, key: &str) -> bool {
        self.values(key).next().is_some()
    }

    /// Returns all values of a key.
    pub fn values<'a>(&'a self, key: &str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(known, _)| known == key)
            .map(|(_, value)| value.as_str())
    }

    /// Returns a boolean parameter: true if present, unless the value is `0` or `false` (in any case, as in `False` of Python clients).
    pub fn flag(&self, key: &str) -> bool {
        self.values(key)
            .next()
            .is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }
}

/// Decodes percent-escapes in a path segment or a header name.
pub(crate) fn decode_path(text: &str) -> String {
    decode(text, false)
}

/// Whether each percent sign begins an escape.
pub(crate) fn has_valid_escapes(text: &str) -> bool {
    let mut escapes = text.split('%').skip(1);
    escapes.all(|escape| {
        let digits = escape.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

fn decode(text: &str, plus: bool) -> String {
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let escaped = (byte == b'%')
            .then(|| bytes.get(at + 1..at + 3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, escaped) {
            (_, Some(value)) => {
                decoded.push(value);
                at += 3;
                continue;
            }
            (b'+', _) if plus => decoded.push(b' '),
            (byte, _) => decoded.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_is_percent_decoded() {
        let query = Query::parse("a=b+c%3D&a=2&x&bad=%zz%e9&bad=%e9&watch=0&x=%4");
        assert_eq!(query.get("a"), "b c=");
        assert_eq!(query.values("a").count(), 2);
        assert!(query.has("x") && query.flag("x") && !query.flag("watch") && !query.flag("none"));
        assert_eq!(query.values("bad").collect::<Vec<_>>(), ["\u{fffd}"]);
        let query = Query::parse("watch=False&force=FALSE&pretty=");
        assert!(!query.flag("watch") && !query.flag("force") && query.flag("pretty"));
    }
}

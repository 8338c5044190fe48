//! The part of a URL after the question mark.

/// Keys and values, in order; a key may come several times.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads it; never fails, as malformed escapes stay as they are.
    pub fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decode(key, true), decode(value, true))
                })
                .collect(),
        )
    }

    /// The first value; empty where there is none.
    pub fn get(&self, key: &str) -> &str {
        self.values(key).next().unwrap_or_default()
    }

    /// Whether the key is there.
    pub fn has(&self, key: &str) -> bool {
        self.values(key).next().is_some()
    }

    /// All values of a key.
    pub fn values<'a>(&'a self, key: &str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(known, _)| known == key)
            .map(|(_, value)| value.as_str())
    }

    /// A switch: on, unless it says `false` or `0`.
    pub fn flag(&self, key: &str) -> bool {
        self.values(key)
            .next()
            .is_some_and(|value| !matches!(value, "false" | "0"))
    }
}

/// What escapes in a segment of a path, or in a header's name, stand for.
pub(crate) fn decode_path(text: &str) -> String {
    decode(text, false)
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
    fn decodes() {
        let query = Query::parse("a=b+c%3D&a=2&x&bad=%zz%e9&watch=0");
        assert_eq!(query.get("a"), "b c=");
        assert_eq!(query.values("a").count(), 2);
        assert!(query.has("x") && query.flag("x") && !query.flag("watch") && !query.flag("none"));
        assert_eq!(query.get("bad"), "%zz\u{fffd}");
    }
}

//! Guards the scan, and the decoder behind it, against input that nests without end.

use std::borrow::Cow;

/// No object that decodes is nested deeper: serde_json gives up at 128.
const MAX_DEPTH: usize = 200;

/// `text` with everything below [`MAX_DEPTH`] replaced by `null`; borrowed when nothing is so deep.
pub(super) fn limited(text: &str) -> Cow<'_, str> {
    let openers = text.bytes().filter(|b| matches!(b, b'{' | b'[')).count();
    if openers <= MAX_DEPTH {
        Cow::Borrowed(text)
    } else {
        cut(text)
    }
}

fn cut(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    // Where the text begins that was not yet copied, and where a value begins that is left out.
    let (mut from, mut left_out) = (0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth == MAX_DEPTH + 1 {
                    out.push_str(&text[from..at]);
                    out.push_str("null");
                    left_out = true;
                }
            }
            b'}' | b']' if !in_string => {
                if depth == MAX_DEPTH + 1 {
                    from = at + 1;
                    left_out = false;
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
    }
    if out.is_empty() {
        return Cow::Borrowed(text);
    }
    if !left_out {
        out.push_str(&text[from..]);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_deep_is_left_alone() {
        let wide = format!("[{}{{}}]", "{\"a\":\"[[[\"},".repeat(MAX_DEPTH));
        assert!(matches!(limited(&wide), Cow::Borrowed(text) if text == wide));
    }

    #[test]
    fn what_is_too_deep_becomes_null() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let whole = format!(r#"{{"a":{deep},"b":"]","c":{deep},"d":1}}"#);
        let expected = format!(
            r#"{{"a":{0}null{1},"b":"]","c":{0}null{1},"d":1}}"#,
            "[".repeat(MAX_DEPTH - 1),
            "]".repeat(MAX_DEPTH - 1)
        );
        assert_eq!(limited(&whole), expected);
    }

    #[test]
    fn a_torn_text_stays_torn() {
        let torn = limited(&"[".repeat(1000)).into_owned();
        assert!(serde_json::from_str::<serde_json::Value>(&torn).is_err());
    }
}

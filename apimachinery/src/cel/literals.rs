//! Literals of texts and bytes, which kube-cel's parser decodes otherwise than cel-go's where they have escapes or three quotes.

use super::macros::parts_mut;
use super::positions::{self, tokens};
use kube_cel::cel::common::ast::{Expr, IdedExpr, LiteralValue};
use std::collections::HashMap;

/// Returns an expression of the same length whose literals the parser decodes easily; those that cannot be decoded stay as they are.
pub(super) fn simplified(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for (start, token) in tokens(text) {
        let Some(literal) = Literal::of(token).filter(|literal| literal.decode().is_some()) else {
            continue;
        };
        let place = &mut bytes[start..start + token.len()];
        place.fill(b'a');
        let prefix = usize::from(literal.is_bytes);
        if prefix == 1 {
            place[0] = b'b';
        }
        place[prefix] = b'\'';
        if let Some(last) = place.last_mut() {
            *last = b'\'';
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Sets the literals of an expression that was parsed from the simplified text.
pub(super) fn restore(parsed: &mut IdedExpr, text: &str) {
    let positions = positions::of(text, parsed);
    let tokens: HashMap<usize, &str> = tokens(text).into_iter().collect();
    set_literals(parsed, &|id| {
        let token = tokens.get(positions.get(&id)?)?;
        Literal::of(token)?.decode()
    });
}

fn set_literals(expression: &mut IdedExpr, value: &dyn Fn(u64) -> Option<LiteralValue>) {
    if matches!(
        expression.expr,
        Expr::Literal(LiteralValue::String(_) | LiteralValue::Bytes(_))
    ) && let Some(value) = value(expression.id)
    {
        expression.expr = Expr::Literal(value);
    }
    parts_mut(&mut expression.expr, &mut |part| set_literals(part, value));
}

/// A literal of a text or of bytes.
struct Literal<'t> {
    is_bytes: bool,
    is_raw: bool,
    /// What stands between the quotes.
    content: &'t str,
}

impl<'t> Literal<'t> {
    /// Parses a token; None if it is no such literal.
    fn of(token: &'t str) -> Option<Self> {
        let quoted = token.trim_start_matches(['r', 'R', 'b', 'B']);
        let prefix = token[..token.len() - quoted.len()].to_ascii_lowercase();
        let content = ["\"\"\"", "'''", "\"", "'"]
            .iter()
            .find_map(|quotes| quoted.strip_prefix(quotes)?.strip_suffix(quotes))?;
        Some(Self {
            is_bytes: prefix.contains('b'),
            is_raw: prefix.contains('r'),
            content,
        })
    }

    /// Returns the value; None if an escape is invalid.
    fn decode(&self) -> Option<LiteralValue> {
        let content = self.content.replace("\r\n", "\n").replace('\r', "\n");
        let mut bytes = Vec::with_capacity(content.len());
        let mut rest = content.as_str();
        while let Some(next) = rest.chars().next() {
            if next == '\\' && !self.is_raw {
                let (length, code) = escape(&rest[1..], self.is_bytes)?;
                match u8::try_from(code) {
                    Ok(byte) if self.is_bytes => bytes.push(byte),
                    _ => push(&mut bytes, char::from_u32(code)?),
                }
                rest = &rest[1 + length..];
            } else {
                push(&mut bytes, next);
                rest = &rest[next.len_utf8()..];
            }
        }
        Some(if self.is_bytes {
            LiteralValue::Bytes(bytes.into())
        } else {
            LiteralValue::String(String::from_utf8(bytes).ok()?.as_str().into())
        })
    }
}

fn push(bytes: &mut Vec<u8>, c: char) {
    bytes.extend(c.encode_utf8(&mut [0; 4]).bytes());
}

/// Returns the length of an escape behind its backslash, and the code of its character or byte.
fn escape(escape: &str, is_bytes: bool) -> Option<(usize, u32)> {
    let first = escape.chars().next()?;
    let number = |start: usize, length: usize, radix: u32| {
        let digits = escape.get(start..start + length)?;
        let are_digits = digits.chars().all(|digit| digit.is_digit(radix));
        let code = u32::from_str_radix(digits, radix).ok().filter(|_| are_digits)?;
        Some((start + length, code))
    };
    let code = match first {
        'a' => 7,
        'b' => 8,
        't' => 9,
        'n' => 10,
        'v' => 11,
        'f' => 12,
        'r' => 13,
        '\\' | '?' | '"' | '\'' | '`' => u32::from(first),
        'x' | 'X' => return number(1, 2, 16),
        'u' if !is_bytes => return number(1, 4, 16),
        'U' if !is_bytes => return number(1, 8, 16),
        '0'..='3' => return number(0, 3, 8),
        _ => return None,
    };
    Some((1, code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_decoded_as_by_cel_go() {
        let text = |text: &str| Some(LiteralValue::String(text.into()));
        let bytes = |bytes: &[u8]| Some(LiteralValue::Bytes(bytes.to_vec().into()));
        for (literal, expected) in [
            (r#"'a\'b"c'"#, text("a'b\"c")),
            (
                r#""it\'s \? \` \a\b\t\n\v\f\r\\""#,
                text("it's ? ` \u{7}\u{8}\t\n\u{b}\u{c}\r\\"),
            ),
            (r"'\x41\X42\u00e9\U0001F451\101'", text("ABé👑A")),
            ("'''x''x'''", text("x''x")),
            ("\"\"\" ? \" ' \r\n \"\"\"", text(" ? \" ' \n ")),
            (r"r'\d\'", text(r"\d\")),
            (r"b'\xff\377\n é'", bytes(b"\xff\xff\n \xc3\xa9")),
            ("b'''hello'''", bytes(b"hello")),
            (r#"br"\n""#, bytes(br"\n")),
            (r"'\d'", None),
            (r"'\x4'", None),
            (r"b'\u0041'", None),
            (r"'\400'", None),
        ] {
            assert_eq!(Literal::of(literal).unwrap().decode(), expected, "{literal}");
        }
    }

    #[test]
    fn simplified_literals_have_the_same_length() {
        for (text, expected) in [
            (
                r#"a == "\'" && '''b''' != b'\n'"#,
                "a == 'aa' && 'aaaaa' != b'aa'",
            ),
            ("r'é' + '\\d'", "'aaa' + '\\d'"),
            ("'' + b''", "'' + b''"),
            (r"r'\' + '\''", "'aa' + 'aa'"),
        ] {
            assert_eq!(simplified(text), expected);
        }
    }
}

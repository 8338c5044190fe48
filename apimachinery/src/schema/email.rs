//! Email addresses as Go's `net/mail` parses them: RFC 5322 with display names, comments and groups.

use std::net::IpAddr;

const SPACE: [char; 2] = [' ', '\t'];

/// Whether a text is one email address, which may have a display name and comments.
pub(super) fn is_email(text: &str) -> bool {
    let mut parser = Parser { rest: text };
    parser.address(true) == Some(1) && parser.skip_comments().is_some() && parser.rest.is_empty()
}

/// The methods return `None` if the text is invalid.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// Parses an address or a group, and returns the number of addresses.
    fn address(&mut self, may_be_group: bool) -> Option<usize> {
        self.skip_space();
        let start = self.rest;
        if self.address_spec().is_some() {
            self.skip_space();
            if self.consume('(') {
                let comment = self.comment()?;
                if comment.split(SPACE).any(has_unknown_charset) {
                    return None;
                }
            }
            return Some(1);
        }
        self.rest = start;
        if !start.starts_with('<') {
            self.phrase()?;
        }
        self.skip_space();
        if may_be_group && self.consume(':') {
            return self.group();
        }
        (self.consume('<') && self.address_spec().is_some() && self.consume('>')).then_some(1)
    }

    /// Parses the addresses of a group, after its colon.
    fn group(&mut self) -> Option<usize> {
        let mut count = 0;
        self.skip_space();
        if !self.consume(';') {
            loop {
                count += self.address(false)?;
                self.skip_comments()?;
                if self.consume(';') {
                    break;
                }
                if !self.consume(',') {
                    return None;
                }
            }
        }
        self.skip_comments()?;
        Some(count)
    }

    /// Parses an address without a display name.
    fn address_spec(&mut self) -> Option<()> {
        self.skip_space();
        if self.rest.starts_with('"') {
            self.quoted_string().filter(|local| !local.is_empty())?;
        } else {
            self.dot_atom()?;
        }
        if !self.consume('@') {
            return None;
        }
        self.skip_space();
        if self.consume('[') {
            let (address, rest) = self.rest.split_once(']')?;
            self.rest = rest;
            return address.parse::<IpAddr>().ok().map(drop);
        }
        self.dot_atom()
    }

    /// Parses the words of a display name. An error ends it if there is a word before it.
    fn phrase(&mut self) -> Option<()> {
        let mut has_word = false;
        loop {
            if has_word {
                self.skip_comments()?;
            }
            self.skip_space();
            let is_word = match self.rest.chars().next() {
                None => return Some(()),
                Some('"') => self.quoted_string().is_some(),
                Some(_) => self.atom().is_some_and(|atom| !has_unknown_charset(atom)),
            };
            if !is_word {
                return has_word.then_some(());
            }
            has_word = true;
        }
    }

    /// Parses a quoted string, and returns its content without unescaping it.
    fn quoted_string(&mut self) -> Option<&'a str> {
        let text = self.rest.strip_prefix('"')?;
        let mut is_escaped = false;
        for (at, c) in text.char_indices() {
            match c {
                _ if !is_visible(c) && !SPACE.contains(&c) => return None,
                _ if is_escaped => is_escaped = false,
                '"' => {
                    self.rest = &text[at + 1..];
                    return Some(&text[..at]);
                }
                _ => is_escaped = c == '\\',
            }
        }
        None
    }

    /// Parses an atom that may contain dots anywhere.
    fn atom(&mut self) -> Option<&'a str> {
        let end = self.rest.find(|c| !is_visible(c) || "()<>[]:;@\\,\"".contains(c));
        let (atom, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        (!atom.is_empty()).then_some(atom)
    }

    /// Parses atoms that are separated by single dots.
    fn dot_atom(&mut self) -> Option<()> {
        let atom = self.atom()?;
        atom.split('.').all(|part| !part.is_empty()).then_some(())
    }

    /// Parses a comment after its opening parenthesis; comments nest.
    fn comment(&mut self) -> Option<&'a str> {
        let (text, mut depth, mut is_escaped) = (self.rest, 1, false);
        for (at, c) in text.char_indices() {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.rest = &text[at + 1..];
                return Some(&text[..at]);
            }
        }
        None
    }

    fn skip_comments(&mut self) -> Option<()> {
        self.skip_space();
        while self.consume('(') {
            self.comment()?;
            self.skip_space();
        }
        Some(())
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches(SPACE);
    }

    fn consume(&mut self, expected: char) -> bool {
        let rest = self.rest.strip_prefix(expected);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

fn is_visible(c: char) -> bool {
    c.is_ascii_graphic() || !c.is_ascii()
}

/// Whether a word is an encoded word (RFC 2047) in a character set that Go does not decode.
fn has_unknown_charset(word: &str) -> bool {
    let inner = word.strip_prefix("=?").and_then(|word| word.strip_suffix("?="));
    let parts: Vec<&str> = inner.unwrap_or_default().split('?').collect();
    let [charset, encoding, content] = parts.as_slice() else {
        return false;
    };
    let is_decodable = match *encoding {
        "B" | "b" => crate::types::is_base64(content),
        "Q" | "q" => is_quoted_printable(content),
        _ => false,
    };
    let known = ["utf-8", "iso-8859-1", "us-ascii"];
    is_decodable && !charset.is_empty() && !known.contains(&charset.to_ascii_lowercase().as_str())
}

fn is_quoted_printable(content: &str) -> bool {
    let mut escapes = content.split('=');
    let is_text = |text: &str| {
        let mut bytes = text.bytes();
        bytes.all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'))
    };
    let is_escape = |text: &str| {
        let digits = text.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) && is_text(text)
    };
    escapes.next().is_some_and(is_text) && escapes.all(is_escape)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Each was parsed by Go 1.26.
    #[test]
    fn addresses_are_parsed_as_by_go() {
        for text in [
            "a@b",
            " a@b ",
            "a@ b",
            "a.b@c.d",
            "ä@ö",
            "a@[1.2.3.4]",
            "a@[::1]",
            "a@b (x)",
            "a@b (x(y)) (z)",
            "\"a b\"@c",
            "\"a\\\"\"@c",
            "<a@b>",
            "A B <a@b>",
            "\"A, B\" <a@b>",
            "A. (x) B <a@b>",
            "a..b <a@b>",
            "g: a@b;",
            "g: A <a@b> (x);",
            "=?utf-8?q?=41?= <a@b>",
            "=?x?q?=4?= <a@b>",
            "a =?x?q?=41?= <a@b>",
        ] {
            assert!(is_email(text), "{text}");
        }
        for text in [
            "",
            "a",
            "a@",
            "@b",
            ".a@b",
            "a..b@c",
            "a.@b",
            "a @b",
            "a@b@c",
            "a@b c",
            "a@b, c@d",
            "a@[1.2.3]",
            "a@b (x",
            "a@b (=?x?q?=41?=)",
            "\"\"@b",
            "\"a@b",
            "A <a@b",
            "A <a@b >",
            "A a@b",
            "g:;",
            "g: a@b, c@d;",
            "g: h: a@b;;",
            "=?x?q?=41?= <a@b>",
            "a@b\n",
        ] {
            assert!(!is_email(text), "{text}");
        }
    }
}

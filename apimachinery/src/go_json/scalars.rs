//! Texts and doubles as Go's encoder writes them.

use std::io::Write as _;

/// The bytes that begin what may be escaped in a text.
const SPECIAL: [bool; 256] = {
    let (mut special, mut control) = ([false; 256], 0);
    while control < 0x20 {
        special[control] = true;
        control += 1;
    }
    let (mut at, others) = (0, b"\"\\<>&\xe2");
    while at < others.len() {
        special[others[at] as usize] = true;
        at += 1;
    }
    special
};

/// Writes a text in quotes.
pub(super) fn write_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| SPECIAL[usize::from(*byte)]) {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain);
        rest = &special[write_special(out, special)..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Writes the first character, or its first byte, and returns the length of that.
fn write_special(out: &mut Vec<u8>, special: &[u8]) -> usize {
    let (code, length) = match *special {
        // The separators U+2028 and U+2029, which JavaScript once refused.
        [0xe2, 0x80, last @ (0xa8 | 0xa9), ..] => (0x2000 + u32::from(last) - 0x80, 3),
        [byte, ..] => (u32::from(byte), 1),
        [] => return 0,
    };
    let short = match special[0] {
        byte @ (b'"' | b'\\') => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        0xe2 if length == 1 => {
            out.push(0xe2);
            return length;
        }
        _ => {
            // Writing to a vector cannot fail.
            drop(write!(out, "\\u{code:04x}"));
            return length;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
    length
}

/// Writes a double as Go does: very small and very large ones with an exponent.
pub(super) fn write_double(out: &mut Vec<u8>, double: f64) {
    let size = double.abs();
    let text = if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{double:e}");
        if text.contains("e-") {
            text
        } else {
            text.replace('e', "e+")
        }
    } else {
        double.to_string()
    };
    out.extend_from_slice(text.as_bytes());
}

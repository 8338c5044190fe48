//! Protobuf's wire format.

/// What stands behind a field's number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wire<'a> {
    Number(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// A field's number and value, and what follows.
type Found<'a> = (u64, Wire<'a>, &'a [u8]);

/// The next field of a message, and what follows it; None at the end.
pub(super) fn next(bytes: &[u8]) -> Result<Option<Found<'_>>, String> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let (key, rest) = number(bytes)?;
    let (value, rest) = match key & 7 {
        0 => {
            let (value, rest) = number(rest)?;
            (Wire::Number(value), rest)
        }
        1 => {
            let (value, rest) = rest.split_first_chunk().ok_or_else(end)?;
            (Wire::Fixed64(u64::from_le_bytes(*value)), rest)
        }
        2 => {
            let (length, rest) = number(rest)?;
            let length = usize::try_from(length).map_err(|_| end())?;
            let (value, rest) = rest.split_at_checked(length).ok_or_else(end)?;
            (Wire::Bytes(value), rest)
        }
        5 => {
            let (value, rest) = rest.split_first_chunk().ok_or_else(end)?;
            (Wire::Fixed32(u32::from_le_bytes(*value)), rest)
        }
        other => return Err(format!("proto: illegal wireType {other}")),
    };
    Ok(Some((key >> 3, value, rest)))
}

/// A number in groups of seven bits.
pub(super) fn number(bytes: &[u8]) -> Result<(u64, &[u8]), String> {
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at).min(63);
        if byte & 0x80 == 0 {
            return Ok((value, &bytes[at + 1..]));
        }
    }
    Err(if bytes.len() < 10 {
        end()
    } else {
        "proto: integer overflow".to_owned()
    })
}

fn end() -> String {
    "unexpected EOF".to_owned()
}

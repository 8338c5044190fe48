//! The protobuf wire format.

/// The value of a field on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WireValue<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// A field's number, its value, and the remaining bytes.
type FieldEntry<'a> = (u64, WireValue<'a>, &'a [u8]);

/// Reads the next field of a message; `None` at the end.
pub(super) fn next_field(bytes: &[u8]) -> Result<Option<FieldEntry<'_>>, String> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let (key, rest) = varint(bytes)?;
    let (value, rest) = match key & 7 {
        0 => {
            let (value, rest) = varint(rest)?;
            (WireValue::Varint(value), rest)
        }
        1 => {
            let (value, rest) = rest.split_first_chunk().ok_or_else(unexpected_eof)?;
            (WireValue::Fixed64(u64::from_le_bytes(*value)), rest)
        }
        2 => {
            let (length, rest) = varint(rest)?;
            let length = usize::try_from(length).map_err(|_| unexpected_eof())?;
            let (value, rest) = rest.split_at_checked(length).ok_or_else(unexpected_eof)?;
            (WireValue::Bytes(value), rest)
        }
        5 => {
            let (value, rest) = rest.split_first_chunk().ok_or_else(unexpected_eof)?;
            (WireValue::Fixed32(u32::from_le_bytes(*value)), rest)
        }
        other => return Err(format!("proto: illegal wireType {other}")),
    };
    Ok(Some((key >> 3, value, rest)))
}

/// Reads a varint; returns it with the remaining bytes.
pub(super) fn varint(bytes: &[u8]) -> Result<(u64, &[u8]), String> {
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at).min(63);
        if byte & 0x80 == 0 {
            return Ok((value, &bytes[at + 1..]));
        }
    }
    Err(if bytes.len() < 10 {
        unexpected_eof()
    } else {
        "proto: integer overflow".to_owned()
    })
}

fn unexpected_eof() -> String {
    "unexpected EOF".to_owned()
}

/// Appends a varint.
pub(super) fn put_varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

/// Appends a field with a number.
pub fn put_varint_field(number: u64, value: u64, bytes: &mut Vec<u8>) {
    put_varint(number << 3, bytes);
    put_varint(value, bytes);
}

/// Appends a field with eight bytes.
pub fn put_fixed64(number: u64, bits: u64, bytes: &mut Vec<u8>) {
    put_varint(number << 3 | 1, bytes);
    bytes.extend_from_slice(&bits.to_le_bytes());
}

/// Appends a field with these bytes.
pub fn put_bytes(number: u64, content: &[u8], bytes: &mut Vec<u8>) {
    put_varint(number << 3 | 2, bytes);
    put_varint(content.len() as u64, bytes);
    bytes.extend_from_slice(content);
}

/// Appends a field whose bytes `append` appends.
pub fn put_delimited(number: u64, bytes: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>)) {
    put_varint(number << 3 | 2, bytes);
    let start = bytes.len();
    append(bytes);
    let mut length = vec![];
    put_varint((bytes.len() - start) as u64, &mut length);
    bytes.splice(start..start, length);
}

//! The part of DER, the encoding of keys and certificates, that client certificates and keys of tokens need.

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;

/// Takes an element from the beginning of the input; returns its type and its content.
pub(super) fn next<'d>(input: &mut &'d [u8]) -> Option<(u8, &'d [u8])> {
    let (&tag, rest) = input.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match length {
        // The long form: the number of bytes of the length.
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(length - 0x80))?;
            let length = bytes
                .iter()
                .fold(0, |length, byte| length << 8 | usize::from(*byte));
            (length, rest)
        }
        0x80.. => return None,
        length => (usize::from(*length), rest),
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *input = rest;
    Some((tag, content))
}

/// Takes an element of any type; returns its content.
pub(super) fn content<'d>(input: &mut &'d [u8]) -> Option<&'d [u8]> {
    next(input).map(|(_, content)| content)
}

/// Takes an element of this type; returns its content. None if another one is there, which stays.
pub(super) fn take<'d>(tag: u8, input: &mut &'d [u8]) -> Option<&'d [u8]> {
    let mut rest = *input;
    let (found, content) = next(&mut rest)?;
    (found == tag).then(|| {
        *input = rest;
        content
    })
}

/// Returns an element.
pub(super) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let length: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    let mut encoded = vec![tag];
    if content.len() >= 0x80 {
        encoded.push(0x80 | u8::try_from(length.len()).unwrap_or_default());
        encoded.extend(length);
    } else {
        encoded.push(length.first().copied().unwrap_or_default());
    }
    encoded.extend(content);
    encoded
}

/// Returns a positive integer.
pub(super) fn integer(bytes: &[u8]) -> Vec<u8> {
    // A first bit that is set would mean a negative one.
    let is_high = bytes.first().is_none_or(|byte| *byte >= 0x80);
    let sign: &[u8] = if is_high { &[0] } else { &[] };
    element(INTEGER, &[sign, bytes].concat())
}

/// Returns an AlgorithmIdentifier.
pub(super) fn algorithm_identifier(name: &[u8], parameters: &[u8]) -> Vec<u8> {
    element(
        SEQUENCE,
        &[&element(OBJECT_IDENTIFIER, name), parameters].concat(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_as_they_are_written() {
        for length in [0, 1, 127, 128, 255, 256, 65_536] {
            let content = vec![7; length];
            let encoded = element(OCTET_STRING, &content);
            let followed = [encoded.clone(), vec![1]].concat();
            let mut input = followed.as_slice();
            assert_eq!(take(OCTET_STRING, &mut input), Some(content.as_slice()));
            assert_eq!(input, [1]);
            assert_eq!(take(SEQUENCE, &mut encoded.as_slice()), None);
            let short = &encoded[..encoded.len() - 1];
            assert_eq!(take(OCTET_STRING, &mut &*short), None, "{length}");
        }
        assert_eq!(integer(&[0x80]), [INTEGER, 2, 0, 0x80]);
        assert_eq!(integer(&[0x7f]), [INTEGER, 1, 0x7f]);
        // More bytes of length than an address has, and a length without end.
        for malformed in [&[OCTET_STRING, 0x89, 1][..], &[OCTET_STRING, 0x80, 0, 0], &[]] {
            assert_eq!(take(OCTET_STRING, &mut &*malformed), None);
        }
    }
}

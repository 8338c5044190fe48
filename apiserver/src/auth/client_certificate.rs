//! The user of a client certificate: the subject's common name is the name, its organizations are the groups.

use super::User;

const COMMON_NAME_OID: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION_OID: &[u8] = &[0x55, 0x04, 0x0a];
const SEQUENCE_TAG: u8 = 0x30;
const VERSION_TAG: u8 = 0xa0;

/// Returns the user of a DER certificate; None if it has no common name or is malformed. TLS has verified it before.
pub(crate) fn user_from_certificate(certificate: &[u8]) -> Option<User> {
    let (_, certificate, _) = der_element(certificate)?;
    let (_, body, _) = der_element(certificate)?;
    let (tag, _, after_version) = der_element(body)?;
    // The subject follows serial number, algorithm, issuer and validity.
    let mut rest = if tag == VERSION_TAG { after_version } else { body };
    for _ in 0..4 {
        (_, _, rest) = der_element(rest)?;
    }
    let (tag, mut subject, _) = der_element(rest)?;
    if tag != SEQUENCE_TAG {
        return None;
    }
    let mut user = User::default();
    while !subject.is_empty() {
        let (_, mut set, rest) = der_element(subject)?;
        subject = rest;
        while !set.is_empty() {
            let (_, pair, rest) = der_element(set)?;
            set = rest;
            let (_, oid, value) = der_element(pair)?;
            let (_, value, _) = der_element(value)?;
            let value = String::from_utf8_lossy(value).into_owned();
            match oid {
                COMMON_NAME_OID => user.name = value,
                ORGANIZATION_OID => user.groups.push(value),
                _ => {}
            }
        }
    }
    (!user.name.is_empty()).then_some(user)
}

/// Splits a DER element into tag, content and the rest.
fn der_element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, bytes) = bytes.split_first()?;
    let (&first, mut bytes) = bytes.split_first()?;
    let mut length = usize::from(first);
    if first & 0x80 != 0 {
        let digits = usize::from(first & 0x7f);
        if digits > 4 || digits > bytes.len() {
            return None;
        }
        let (number, rest) = bytes.split_at(digits);
        length = number
            .iter()
            .fold(0, |length, digit| length << 8 | usize::from(*digit));
        bytes = rest;
    }
    (length <= bytes.len()).then(|| {
        let (content, rest) = bytes.split_at(length);
        (tag, content, rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair};

    #[test]
    fn user_is_read_from_the_subject() {
        let mut parameters = CertificateParams::new(vec![]).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, "alice");
        parameters
            .distinguished_name
            .push(DnType::OrganizationName, "devs");
        let certificate = parameters.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let der = certificate.der();
        let alice = user_from_certificate(der).unwrap();
        assert_eq!(
            (alice.name.as_str(), alice.groups),
            ("alice", vec!["devs".to_owned()])
        );
        for end in 0..der.len() {
            assert_eq!(user_from_certificate(&der[..end]), None);
        }
    }
}

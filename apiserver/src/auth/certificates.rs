//! Whom a client's certificate names: the subject's common name is the user, its organizations are the groups.

use super::User;

const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// The user of a certificate in DER; None where its form is another. Whether it is valid, TLS has checked.
pub(crate) fn user(certificate: &[u8]) -> Option<User> {
    let (_, certificate, _) = element(certificate)?;
    let (_, body, _) = element(certificate)?;
    let (tag, _, after_version) = element(body)?;
    // Serial number, algorithm, issuer, validity; then the subject.
    let mut rest = if tag == VERSION { after_version } else { body };
    for _ in 0..4 {
        (_, _, rest) = element(rest)?;
    }
    let (tag, mut subject, _) = element(rest)?;
    if tag != SEQUENCE {
        return None;
    }
    let mut user = User::default();
    while !subject.is_empty() {
        let (_, mut set, rest) = element(subject)?;
        subject = rest;
        while !set.is_empty() {
            let (_, pair, rest) = element(set)?;
            set = rest;
            let (_, kind, value) = element(pair)?;
            let (_, value, _) = element(value)?;
            let value = String::from_utf8_lossy(value).into_owned();
            match kind {
                COMMON_NAME => user.name = value,
                ORGANIZATION => user.groups.push(value),
                _ => {}
            }
        }
    }
    (!user.name.is_empty()).then_some(user)
}

/// Tag, content, and what follows.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
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
    fn reads_the_subject() {
        let mut parameters = CertificateParams::new(vec![]).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, "alice");
        parameters
            .distinguished_name
            .push(DnType::OrganizationName, "devs");
        let certificate = parameters.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let der = certificate.der();
        let alice = user(der).unwrap();
        assert_eq!(
            (alice.name.as_str(), alice.groups),
            ("alice", vec!["devs".to_owned()])
        );
        for end in 0..der.len() {
            assert_eq!(user(&der[..end]), None);
        }
    }
}

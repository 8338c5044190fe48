//! The user of a client certificate: the subject's common name is the name, its organizations are the groups. And which certificates may
//! issue those of clients.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::User;

const COMMON_NAME_OID: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION_OID: &[u8] = &[0x55, 0x04, 0x0a];
const SEQUENCE_TAG: u8 = 0x30;
const VERSION_TAG: u8 = 0xa0;
const EXTENSIONS_TAG: u8 = 0xa3;
const BOOLEAN_TAG: u8 = 0x01;
const UTC_TIME_TAG: u8 = 0x17;
const BASIC_CONSTRAINTS_OID: &[u8] = &[0x55, 0x1d, 0x13];
const KEY_USAGE_OID: &[u8] = &[0x55, 0x1d, 0x0f];
/// The bit of the key usage.
const KEY_CERT_SIGN: u8 = 0x04;

/// Returns the user of a DER certificate; None if it has no common name or is malformed. TLS has verified it before.
pub(crate) fn user_from_certificate(certificate: &[u8]) -> Option<User> {
    let mut subject = Fields::read(certificate)?.subject;
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

/// Whether a trusted certificate may issue others now, by Go's rules: it is valid, a CA (certificates of version 1 do not say), and its key
/// usage, if it has one, includes certificates. rustls does not check this of what it trusts. Limits of a path's length are not checked.
pub(crate) fn may_issue(certificate: &[u8], now: Timestamp) -> bool {
    let Some(fields) = Fields::read(certificate) else {
        return false;
    };
    let is_valid = is_within(fields.validity, now) == Some(true);
    let is_ca = match fields.extensions {
        None => !fields.has_version_3,
        Some(extensions) => {
            let constraints = extension(extensions, BASIC_CONSTRAINTS_OID);
            // `cA` is false by default, and a true value is any but zero.
            let is_ca = constraints
                .and_then(der_element)
                .and_then(|(_, constraints, _)| der_element(constraints))
                .is_some_and(|(tag, value, _)| tag == BOOLEAN_TAG && value != [0]);
            // A bit string: the number of unused bits, then the bits.
            let signs = extension(extensions, KEY_USAGE_OID).is_none_or(|usage| {
                der_element(usage)
                    .is_some_and(|(_, bits, _)| bits.get(1).is_none_or(|bits| bits & KEY_CERT_SIGN != 0))
            });
            is_ca && signs
        }
    };
    is_valid && is_ca
}

/// The parts of a certificate that are read here.
struct Fields<'a> {
    has_version_3: bool,
    validity: &'a [u8],
    subject: &'a [u8],
    extensions: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    fn read(certificate: &'a [u8]) -> Option<Self> {
        let (_, certificate, _) = der_element(certificate)?;
        let (_, body, _) = der_element(certificate)?;
        let (tag, version, after_version) = der_element(body)?;
        let has_version = tag == VERSION_TAG;
        let rest = if has_version { after_version } else { body };
        // Serial number, algorithm, issuer, validity, subject, key.
        let (_, _, rest) = der_element(rest)?;
        let (_, _, rest) = der_element(rest)?;
        let (_, _, rest) = der_element(rest)?;
        let (_, validity, rest) = der_element(rest)?;
        let (tag, subject, rest) = der_element(rest)?;
        let (_, _, mut rest) = der_element(rest)?;
        if tag != SEQUENCE_TAG {
            return None;
        }
        let mut extensions = None;
        while !rest.is_empty() {
            let (tag, content, others) = der_element(rest)?;
            if tag == EXTENSIONS_TAG {
                extensions = Some(der_element(content)?.1);
            }
            rest = others;
        }
        Some(Self {
            has_version_3: has_version && version.last() == Some(&2),
            validity,
            subject,
            extensions,
        })
    }
}

/// The value of the extension with this OID.
fn extension<'a>(mut extensions: &'a [u8], oid: &[u8]) -> Option<&'a [u8]> {
    while !extensions.is_empty() {
        let (_, extension, rest) = der_element(extensions)?;
        let (_, found, mut value) = der_element(extension)?;
        let (tag, content, after_critical) = der_element(value)?;
        if tag == BOOLEAN_TAG {
            value = after_critical;
        }
        if found == oid {
            return Some(if tag == BOOLEAN_TAG {
                der_element(value)?.1
            } else {
                content
            });
        }
        extensions = rest;
    }
    None
}

/// Whether a time lies within a validity; None if that is malformed.
fn is_within(validity: &[u8], now: Timestamp) -> Option<bool> {
    let (tag, begin, rest) = der_element(validity)?;
    let begin = time(tag, begin)?;
    let (tag, end, _) = der_element(rest)?;
    // The last date that certificates have, 9999-12-31, is no timestamp.
    let now = now.to_zoned(TimeZone::UTC).datetime();
    Some((begin..=time(tag, end)?).contains(&now))
}

/// `YYMMDDHHMMSSZ` of 1950 to 2049, or with four digits of the year.
fn time(tag: u8, text: &[u8]) -> Option<DateTime> {
    let text = std::str::from_utf8(text).ok()?;
    let text = match tag {
        UTC_TIME_TAG => {
            let century = if text.get(..2)?.parse::<u8>().ok()? < 50 {
                "20"
            } else {
                "19"
            };
            format!("{century}{text}")
        }
        _ => text.to_owned(),
    };
    DateTime::strptime("%Y%m%d%H%M%SZ", text).ok()
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
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, KeyUsagePurpose, date_time_ymd};

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

    #[test]
    fn only_valid_authorities_may_issue() {
        let now: Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
        let check = |is_ca: IsCa, usages: &[KeyUsagePurpose], years: (i32, i32)| {
            // Without a last date, certificates end with the year 9999.
            let end = if years.1 == 9999 { (12, 31) } else { (1, 1) };
            let mut parameters = CertificateParams::new(vec![]).unwrap();
            parameters.is_ca = is_ca;
            parameters.key_usages = usages.to_vec();
            parameters.not_before = date_time_ymd(years.0, 1, 1);
            parameters.not_after = date_time_ymd(years.1, end.0, end.1);
            let certificate = parameters.self_signed(&KeyPair::generate().unwrap()).unwrap();
            for end in 0..certificate.der().len() {
                assert!(!may_issue(&certificate.der()[..end], now));
            }
            may_issue(certificate.der(), now)
        };
        let ca = || IsCa::Ca(BasicConstraints::Unconstrained);
        let signs = KeyUsagePurpose::KeyCertSign;
        assert!(check(ca(), &[], (2020, 2031)));
        assert!(check(ca(), &[], (2020, 9999)));
        assert!(check(ca(), std::slice::from_ref(&signs), (1990, 2060)));
        assert!(check(
            ca(),
            &[KeyUsagePurpose::DigitalSignature, signs],
            (2020, 2031)
        ));
        assert!(!check(ca(), &[KeyUsagePurpose::DigitalSignature], (2020, 2031)));
        assert!(!check(ca(), &[], (2020, 2029)), "expired");
        assert!(!check(ca(), &[], (2031, 2040)), "not valid yet");
        assert!(!check(IsCa::NoCa, &[], (2020, 2031)));
        assert!(!check(IsCa::ExplicitNoCa, &[], (2020, 2031)));
    }
}

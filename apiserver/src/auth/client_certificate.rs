//! The user of a client certificate: the subject's common name is the name, its organizations are the groups. And which trusted certificates
//! may issue those of clients, or are one.
//!
//! Signatures are verified by ring, which lacks the curve P-521: kube-apiserver accepts clients with such keys, this server does not.

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
const EXTENDED_KEY_USAGE_OID: &[u8] = &[0x55, 0x1d, 0x25];
/// The usages with which a certificate is one of clients: any, and the authentication of clients.
const CLIENT_USAGE_OIDS: [&[u8]; 2] = [
    &[0x55, 0x1d, 0x25, 0x00],
    &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02],
];
/// The extensions that Go knows where they are critical: the last number of their OIDs, which have this prefix.
const KNOWN_EXTENSIONS: (&[u8], &[u8]) = (&[0x55, 0x1d], &[15, 17, 19, 30, 31, 32, 33, 36, 37, 54]);
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
    let is_ca = if fields.extensions.is_empty() {
        !fields.has_version_3
    } else {
        // `cA` is false by default, and a true value is any but zero.
        let is_ca = fields
            .extension(BASIC_CONSTRAINTS_OID)
            .and_then(der_element)
            .and_then(|(_, constraints, _)| der_element(constraints))
            .is_some_and(|(tag, value, _)| tag == BOOLEAN_TAG && value != [0]);
        // A bit string: the number of unused bits, then the bits.
        let signs = fields.extension(KEY_USAGE_OID).is_none_or(|usage| {
            der_element(usage)
                .is_some_and(|(_, bits, _)| bits.get(1).is_none_or(|bits| bits & KEY_CERT_SIGN != 0))
        });
        is_ca && signs
    };
    is_valid && is_ca
}

/// Whether a trusted certificate is valid as that of a client now, by Go's rules, which do not ask who signed it: its extended key usage, if it
/// has one, includes clients, and Go knows its critical extensions.
pub(crate) fn may_identify(certificate: &[u8], now: Timestamp) -> bool {
    let Some(fields) = Fields::read(certificate) else {
        return false;
    };
    let (prefix, known) = KNOWN_EXTENSIONS;
    let is_known = |extension: &Extension<'_>| {
        let last = extension.oid.strip_prefix(prefix);
        last.is_some_and(|last| last.len() == 1 && known.contains(&last[0]))
    };
    let is_readable = fields
        .extensions
        .iter()
        .all(|extension| !extension.is_critical || is_known(extension));
    let is_for_clients = fields
        .extension(EXTENDED_KEY_USAGE_OID)
        .is_none_or(|usages| has_client_usage(usages) == Some(true));
    is_readable && is_for_clients && is_within(fields.validity, now) == Some(true)
}

/// Whether an extended key usage includes clients; an empty one has no limits. None if it is malformed.
fn has_client_usage(usages: &[u8]) -> Option<bool> {
    let (_, mut usages, _) = der_element(usages)?;
    let mut includes_clients = usages.is_empty();
    while !usages.is_empty() {
        let (_, oid, rest) = der_element(usages)?;
        includes_clients |= CLIENT_USAGE_OIDS.contains(&oid);
        usages = rest;
    }
    Some(includes_clients)
}

/// The parts of a certificate that are read here.
struct Fields<'a> {
    has_version_3: bool,
    validity: &'a [u8],
    subject: &'a [u8],
    extensions: Vec<Extension<'a>>,
}

struct Extension<'a> {
    oid: &'a [u8],
    is_critical: bool,
    value: &'a [u8],
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
        let mut extensions = vec![];
        while !rest.is_empty() {
            let (tag, content, others) = der_element(rest)?;
            if tag == EXTENSIONS_TAG {
                extensions = read_extensions(der_element(content)?.1)?;
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

    /// The value of the extension with this OID.
    fn extension(&self, oid: &[u8]) -> Option<&'a [u8]> {
        let found = self.extensions.iter().find(|extension| extension.oid == oid);
        found.map(|extension| extension.value)
    }
}

fn read_extensions(mut bytes: &[u8]) -> Option<Vec<Extension<'_>>> {
    let mut extensions = vec![];
    while !bytes.is_empty() {
        let (_, extension, rest) = der_element(bytes)?;
        let (_, oid, extension) = der_element(extension)?;
        let (tag, content, after_critical) = der_element(extension)?;
        let is_critical = tag == BOOLEAN_TAG && content != [0];
        let value = if tag == BOOLEAN_TAG {
            der_element(after_critical)?.1
        } else {
            content
        };
        extensions.push(Extension {
            oid,
            is_critical,
            value,
        });
        bytes = rest;
    }
    Some(extensions)
}

/// Whether a time lies within a validity; None if that is malformed.
fn is_within(validity: &[u8], now: Timestamp) -> Option<bool> {
    let (tag, begin, rest) = der_element(validity)?;
    let begin = time(tag, begin)?;
    let (tag, end, _) = der_element(rest)?;
    // The last date that certificates have, 9999-12-31, is not a timestamp.
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
#[path = "client_certificate_tests.rs"]
mod tests;

//! The user of a client certificate: the subject's common name is the name, its organizations are the groups. And which trusted certificates
//! may issue those of clients, or are one.
//!
//! Signatures are verified by ring, which lacks the curve P-521: kube-apiserver accepts clients with such keys, this server does not.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::User;
use super::der::{BOOLEAN, SEQUENCE, content, next, take};

const COMMON_NAME_OID: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION_OID: &[u8] = &[0x55, 0x04, 0x0a];
const VERSION_TAG: u8 = 0xa0;
const EXTENSIONS_TAG: u8 = 0xa3;
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
        let mut set = content(&mut subject)?;
        while !set.is_empty() {
            let mut pair = content(&mut set)?;
            let (oid, value) = (content(&mut pair)?, content(&mut pair)?);
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
            .and_then(|mut constraints| take(BOOLEAN, &mut content(&mut constraints)?))
            .is_some_and(|value| value != [0]);
        // A bit string: the number of unused bits, then the bits.
        let signs = fields.extension(KEY_USAGE_OID).is_none_or(|mut usage| {
            content(&mut usage).is_some_and(|bits| bits.get(1).is_none_or(|bits| bits & KEY_CERT_SIGN != 0))
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
fn has_client_usage(mut extension: &[u8]) -> Option<bool> {
    let mut usages = content(&mut extension)?;
    let mut includes_clients = usages.is_empty();
    while !usages.is_empty() {
        includes_clients |= CLIENT_USAGE_OIDS.contains(&content(&mut usages)?);
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
    fn read(mut document: &'a [u8]) -> Option<Self> {
        let mut certificate = content(&mut document)?;
        let mut body = content(&mut certificate)?;
        let version = take(VERSION_TAG, &mut body);
        let _serial_number = content(&mut body)?;
        let _algorithm = content(&mut body)?;
        let _issuer = content(&mut body)?;
        let validity = content(&mut body)?;
        let subject = take(SEQUENCE, &mut body)?;
        let _key = content(&mut body)?;
        let mut extensions = vec![];
        while !body.is_empty() {
            let (tag, mut element) = next(&mut body)?;
            if tag == EXTENSIONS_TAG {
                extensions = read_extensions(content(&mut element)?)?;
            }
        }
        Some(Self {
            has_version_3: version.and_then(<[u8]>::last) == Some(&2),
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

fn read_extensions(mut list: &[u8]) -> Option<Vec<Extension<'_>>> {
    let mut extensions = vec![];
    while !list.is_empty() {
        let mut extension = content(&mut list)?;
        extensions.push(Extension {
            oid: content(&mut extension)?,
            is_critical: take(BOOLEAN, &mut extension).is_some_and(|value| value != [0]),
            value: content(&mut extension)?,
        });
    }
    Some(extensions)
}

/// Whether a time lies within a validity; None if that is malformed.
fn is_within(mut validity: &[u8], now: Timestamp) -> Option<bool> {
    let (begin, end) = (time(next(&mut validity)?)?, time(next(&mut validity)?)?);
    // The last date that certificates have, 9999-12-31, is not a timestamp.
    let now = now.to_zoned(TimeZone::UTC).datetime();
    Some((begin..=end).contains(&now))
}

/// `YYMMDDHHMMSSZ` of 1950 to 2049, or with four digits of the year.
fn time((tag, text): (u8, &[u8])) -> Option<DateTime> {
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

#[cfg(test)]
#[path = "client_certificate_tests.rs"]
mod tests;

//! The period in which a certificate is valid.

use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::TimeZone};
use rustls::pki_types::UnixTime;

const UTC_TIME_TAG: u8 = 0x17;
const GENERALIZED_TIME_TAG: u8 = 0x18;
const VERSION_TAG: u8 = 0xa0;

/// How much the clocks of nodes may differ.
const MAX_CLOCK_DIFFERENCE: SignedDuration = SignedDuration::from_hours(24);

/// The period in which a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
}

impl Validity {
    /// Reads it from a certificate in DER; none if that is malformed.
    pub(super) fn read(certificate: &[u8]) -> Option<Self> {
        let (_, certificate, _) = der_element(certificate)?;
        let (_, body, _) = der_element(certificate)?;
        let (tag, _, after_version) = der_element(body)?;
        let mut rest = if tag == VERSION_TAG { after_version } else { body };
        // Serial number, algorithm and issuer precede it.
        for _ in 0..3 {
            (_, _, rest) = der_element(rest)?;
        }
        let (_, validity, _) = der_element(rest)?;
        let (tag, text, rest) = der_element(validity)?;
        let not_before = read_time(tag, text)?;
        let (tag, text, _) = der_element(rest)?;
        let not_after = read_time(tag, text)?;
        Some(Self {
            not_before,
            not_after,
        })
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&self, now: Timestamp) -> bool {
        self.not_after <= now
    }

    /// Whether it begins so far in the future that a wrong clock made it. One that begins sooner counts as valid: clocks of nodes differ.
    pub(super) fn is_far_ahead(&self, now: Timestamp) -> bool {
        self.not_before > add(now, MAX_CLOCK_DIFFERENCE)
    }

    /// When the certificate is to be renewed: after two thirds of the period.
    pub(super) fn renewal(&self) -> Timestamp {
        let period = self.not_after.duration_since(self.not_before);
        add(self.not_before, period / 3 * 2)
    }
}

/// Adds a duration; the latest possible time if there is no such time.
pub(super) fn add(time: Timestamp, duration: SignedDuration) -> Timestamp {
    time.checked_add(duration).unwrap_or(Timestamp::MAX)
}

/// Returns the time as rustls takes it.
pub(super) fn unix_time(time: Timestamp) -> UnixTime {
    let seconds = u64::try_from(time.as_second()).unwrap_or_default();
    UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds))
}

/// Splits a DER element into tag, content and the rest.
fn der_element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, bytes) = bytes.split_first()?;
    let (&first, bytes) = bytes.split_first()?;
    let (length, bytes) = if first & 0x80 == 0 {
        (usize::from(first), bytes)
    } else {
        let (digits, bytes) = bytes.split_at_checked(usize::from(first & 0x7f))?;
        // Longer than four bytes would be no certificate that fits into a Secret.
        let digits = (digits.len() <= 4).then_some(digits)?;
        let length = digits
            .iter()
            .fold(0, |length, digit| length << 8 | usize::from(*digit));
        (length, bytes)
    };
    let (content, rest) = bytes.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// Reads `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`.
fn read_time(tag: u8, text: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (year, rest) = match (tag, text.len()) {
        (UTC_TIME_TAG, 12) => {
            let (year, rest) = text.split_at(2);
            let year: i16 = year.parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        (GENERALIZED_TIME_TAG, 14) => {
            let (year, rest) = text.split_at(4);
            (year.parse().ok()?, rest)
        }
        _ => return None,
    };
    let part = |index: usize| rest.get(2 * index..2 * index + 2)?.parse::<i8>().ok();
    let time = DateTime::new(year, part(0)?, part(1)?, part(2)?, part(3)?, part(4)?, 0).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    fn certificate(not_before: u64, not_after: u64) -> Vec<u8> {
        let time = |seconds| date_time_ymd(1970, 1, 1) + std::time::Duration::from_secs(seconds);
        let mut params = CertificateParams::new(vec!["a.test".to_owned()]).unwrap();
        (params.not_before, params.not_after) = (time(not_before), time(not_after));
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    proptest! {
        #[test]
        fn validity_is_read_from_any_certificate(not_before in 0u64..250_000_000_000, seconds in 0u64..3_000_000_000) {
            let read = Validity::read(&certificate(not_before, not_before + seconds)).unwrap();
            let second = |seconds: u64| i64::try_from(seconds).unwrap();
            prop_assert_eq!(read.not_before.as_second(), second(not_before));
            prop_assert_eq!(read.not_after.as_second(), second(not_before + seconds));
        }

        #[test]
        fn malformed_certificates_have_no_validity(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            // It must not panic; that random bytes have a validity would be a chance of less than 2^-100.
            prop_assert_eq!(Validity::read(&bytes), None);
        }
    }

    #[test]
    fn truncated_certificates_have_no_validity() {
        let certificate = certificate(0, 1_000_000_000);
        for end in 0..certificate.len() {
            assert_eq!(Validity::read(&certificate[..end]), None);
        }
    }

    #[test]
    fn renewal_is_due_after_two_thirds() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let validity = Validity {
            not_before: at(0),
            not_after: at(300),
        };
        assert_eq!(validity.renewal(), at(200));
        assert!(!validity.has_ended(at(299)) && validity.has_ended(at(300)));
        let (day, later) = (
            24 * 3600,
            Validity {
                not_before: at(200_000),
                not_after: at(300_000),
            },
        );
        assert!(later.is_far_ahead(at(199_999 - day)) && !later.is_far_ahead(at(200_000 - day)));
    }
}

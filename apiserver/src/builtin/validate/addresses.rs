//! Addresses, and ranges of them.

use super::Check;
use crate::field::FieldError;
use std::net::{IpAddr, Ipv4Addr};

const ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
pub(super) const RANGE: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// Why a text is no address.
pub(super) fn fault(text: &str) -> Option<&'static str> {
    match text.parse::<IpAddr>() {
        Ok(address) if is_mapped(address) => Some("must not be an IPv4-mapped IPv6 address"),
        Ok(_) => None,
        Err(_) if padded(text).is_some() => Some("must not have leading 0s"),
        Err(_) => Some(ADDRESS),
    }
}

/// Refuses addresses that mean something to the machine that uses them.
pub(super) fn special(check: &mut Check, text: &str, path: &str) {
    let mut refuse = |detail: &str| check.push(FieldError::invalid(path, text, detail));
    let Some(address) = sloppy(text) else {
        refuse("must be a valid IP address");
        return;
    };
    let (link, multicast) = match address {
        IpAddr::V4(address) => (address.is_link_local(), address.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(address) => (
            address.is_unicast_link_local(),
            address.segments()[0] & 0xff0f == 0xff02,
        ),
    };
    if address.is_unspecified() {
        refuse(&format!("may not be unspecified ({text})"));
    }
    if address.is_loopback() {
        refuse("may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    if link {
        refuse("may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
    if multicast {
        refuse("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
}

/// Why a text is no range of addresses.
pub(super) fn range_fault(text: &str) -> Option<&'static str> {
    let Some((address, bits)) = range(text) else {
        return Some(RANGE);
    };
    let is_plain = text
        .split_once('/')
        .is_some_and(|(start, length)| start.parse::<IpAddr>().is_ok() && length == bits.to_string());
    // The bits of the host, if the range has as many.
    let of_host = match address {
        IpAddr::V4(address) => address.to_bits().checked_shl(bits).unwrap_or(0) != 0,
        IpAddr::V6(address) => address.to_bits().checked_shl(bits).unwrap_or(0) != 0,
    };
    if !is_plain {
        Some("must not have leading 0s in IP or prefix length")
    } else if is_mapped(address) {
        Some("must not have an IPv4-mapped IPv6 address")
    } else {
        of_host.then_some("must not have bits set beyond the prefix length")
    }
}

/// Whether a range is a part of another, and not all of it; none where one of them is no range.
pub(super) fn is_part(part: &str, whole: &str) -> Option<bool> {
    let ((part, long), (whole, short)) = (range(part)?, range(whole)?);
    let prefix = |address| match address {
        IpAddr::V4(address) => u128::from(address.to_bits()).checked_shr(32 - short),
        IpAddr::V6(address) => address.to_bits().checked_shr(128 - short),
    };
    Some(part.is_ipv4() == whole.is_ipv4() && long > short && prefix(part) == prefix(whole))
}

/// An address of a range, and how many bits all of them share. There may be zeros before numbers.
fn range(text: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = text.split_once('/')?;
    let (address, bits) = (
        sloppy(address)?,
        bits.strip_prefix('+').is_none().then_some(bits)?,
    );
    let most = if address.is_ipv4() { 32 } else { 128 };
    Some((address, bits.parse().ok().filter(|bits| *bits <= most)?))
}

fn sloppy(text: &str) -> Option<IpAddr> {
    text.parse().ok().or_else(|| padded(text).map(IpAddr::V4))
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// An address whose numbers may have zeros before them.
pub(crate) fn padded(text: &str) -> Option<Ipv4Addr> {
    let mut numbers = text.split('.').map(|part| part.parse::<u8>().ok());
    let address = [
        numbers.next()??,
        numbers.next()??,
        numbers.next()??,
        numbers.next()??,
    ];
    numbers.next().is_none().then(|| address.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_written_plainly_and_lie_within_others() {
        for (text, why) in [
            ("10.0.0.0/8", None),
            ("::/0", None),
            (
                "10.0.0.1/8",
                Some("must not have bits set beyond the prefix length"),
            ),
            (
                "010.0.0.0/8",
                Some("must not have leading 0s in IP or prefix length"),
            ),
            (
                "10.0.0.0/08",
                Some("must not have leading 0s in IP or prefix length"),
            ),
            (
                "::ffff:10.0.0.0/104",
                Some("must not have an IPv4-mapped IPv6 address"),
            ),
            ("10.0.0.0/33", Some(RANGE)),
            ("10.0.0.0/+8", Some(RANGE)),
            ("10.0.0.0", Some(RANGE)),
        ] {
            assert_eq!(range_fault(text), why, "{text}");
        }
        for (part, whole, fits) in [
            ("10.1.0.0/16", "10.0.0.0/8", Some(true)),
            ("10.0.0.0/8", "10.0.0.0/8", Some(false)),
            ("11.0.0.0/16", "10.0.0.0/8", Some(false)),
            ("fe80::/64", "::/0", Some(true)),
            ("10.0.0.0/8", "::/0", Some(false)),
            ("x", "::/0", None),
        ] {
            assert_eq!(is_part(part, whole), fits, "{part} of {whole}");
        }
    }
}

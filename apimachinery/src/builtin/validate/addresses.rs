//! IP addresses and CIDRs.

use super::Check;
use std::net::{IpAddr, Ipv4Addr};

const INVALID_IP: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
pub(super) const INVALID_CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// Returns why a text is not a valid IP address.
pub(super) fn ip_error(text: &str) -> Option<&'static str> {
    match text.parse::<IpAddr>() {
        Ok(address) if is_ipv4_mapped(address) => Some("must not be an IPv4-mapped IPv6 address"),
        Ok(_) => None,
        Err(_) if parse_ipv4_sloppy(text).is_some() => Some("must not have leading 0s"),
        Err(_) => Some(INVALID_IP),
    }
}

/// The same as a format.
pub(super) fn ip_errors(text: &str) -> Vec<&'static str> {
    ip_error(text).into_iter().collect()
}

/// Requires an IP address in its canonical form.
pub(super) fn validate_canonical_ip(check: &mut Check, text: &str, path: &str) {
    match (ip_error(text), text.parse::<IpAddr>()) {
        (Some(detail), _) => check.invalid(path, text, detail),
        (None, Ok(address)) => reject_other_form(check, text, &address.to_string(), path),
        (None, Err(_)) => {}
    }
}

/// Requires a CIDR in its canonical form.
pub(super) fn validate_canonical_cidr(check: &mut Check, text: &str, path: &str) {
    match (cidr_error(text), parse_cidr(text)) {
        (Some(detail), _) => check.invalid(path, text, detail),
        (None, Some((address, bits))) => reject_other_form(check, text, &format!("{address}/{bits}"), path),
        (None, None) => {}
    }
}

/// Requires a text to be in its canonical form.
pub(super) fn reject_other_form(check: &mut Check, text: &str, canonical: &str, path: &str) {
    if let Some(detail) = other_form_error(text, canonical) {
        check.invalid(path, text, detail);
    }
}

fn other_form_error(text: &str, canonical: &str) -> Option<String> {
    (text != canonical).then(|| format!("must be in canonical form ({canonical:?})"))
}

/// Rejects unspecified, loopback, link-local and link-local multicast addresses.
pub(super) fn validate_non_special_ip(check: &mut Check, text: &str, path: &str) {
    let mut reject = |detail: &str| check.invalid(path, text, detail);
    let Some(address) = parse_ip_sloppy(text) else {
        reject("must be a valid IP address");
        return;
    };
    let (link_local, multicast) = match address {
        IpAddr::V4(address) => (address.is_link_local(), address.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(address) => (
            address.is_unicast_link_local(),
            address.segments()[0] & 0xff0f == 0xff02,
        ),
    };
    if address.is_unspecified() {
        reject(&format!("may not be unspecified ({text})"));
    }
    if address.is_loopback() {
        reject("may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    if link_local {
        reject("may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
    if multicast {
        reject("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
}

/// Returns why a text is not a valid CIDR.
pub(super) fn cidr_error(text: &str) -> Option<&'static str> {
    let Some((address, bits)) = parse_cidr(text) else {
        return Some(INVALID_CIDR);
    };
    let is_canonical = text
        .split_once('/')
        .is_some_and(|(start, length)| start.parse::<IpAddr>().is_ok() && length == bits.to_string());
    // Whether host bits are set.
    let has_host_bits = match address {
        IpAddr::V4(address) => address.to_bits().checked_shl(bits).unwrap_or(0) != 0,
        IpAddr::V6(address) => address.to_bits().checked_shl(bits).unwrap_or(0) != 0,
    };
    if !is_canonical {
        Some("must not have leading 0s in IP or prefix length")
    } else if is_ipv4_mapped(address) {
        Some("must not have an IPv4-mapped IPv6 address")
    } else {
        has_host_bits.then_some("must not have bits set beyond the prefix length")
    }
}

/// Returns why a text is not the canonical form of an address with the length of its network's prefix.
pub(super) fn interface_address_error(text: &str) -> Option<String> {
    let Some((address, bits)) = parse_cidr(text) else {
        return Some("must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)".to_owned());
    };
    let (address, bits) = match address {
        IpAddr::V6(mapped) if bits >= 96 && is_ipv4_mapped(address) => {
            (mapped.to_ipv4_mapped().map_or(address, IpAddr::V4), bits - 96)
        }
        _ => (address, bits),
    };
    other_form_error(text, &format!("{address}/{bits}"))
}

/// Whether a CIDR is one of IPv6; `None` if it is invalid.
pub(super) fn is_v6_cidr(text: &str) -> Option<bool> {
    parse_cidr(text).map(|(address, _)| address.is_ipv6())
}

/// Whether a CIDR is a strict subset of another; `None` if one of them is invalid.
pub(super) fn is_strict_subnet(inner: &str, outer: &str) -> Option<bool> {
    let ((inner, inner_bits), (outer, outer_bits)) = (parse_cidr(inner)?, parse_cidr(outer)?);
    let prefix = |address| match address {
        IpAddr::V4(address) => u128::from(address.to_bits()).checked_shr(32 - outer_bits),
        IpAddr::V6(address) => address.to_bits().checked_shr(128 - outer_bits),
    };
    Some(inner.is_ipv4() == outer.is_ipv4() && inner_bits > outer_bits && prefix(inner) == prefix(outer))
}

/// Parses a CIDR into address and prefix length, with leading zeros allowed.
fn parse_cidr(text: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = text.split_once('/')?;
    let (address, bits) = (
        parse_ip_sloppy(address)?,
        bits.strip_prefix('+').is_none().then_some(bits)?,
    );
    let max_bits = if address.is_ipv4() { 32 } else { 128 };
    Some((address, bits.parse().ok().filter(|bits| *bits <= max_bits)?))
}

fn parse_ip_sloppy(text: &str) -> Option<IpAddr> {
    text.parse()
        .ok()
        .or_else(|| parse_ipv4_sloppy(text).map(IpAddr::V4))
}

fn is_ipv4_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// Parses an IPv4 address with leading zeros allowed.
pub fn parse_ipv4_sloppy(text: &str) -> Option<Ipv4Addr> {
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
    fn cidrs_are_canonical_and_subnets_are_recognized() {
        for (text, reason) in [
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
            ("10.0.0.0/33", Some(INVALID_CIDR)),
            ("10.0.0.0/+8", Some(INVALID_CIDR)),
            ("10.0.0.0", Some(INVALID_CIDR)),
        ] {
            assert_eq!(cidr_error(text), reason, "{text}");
        }
        for (part, whole, fits) in [
            ("10.1.0.0/16", "10.0.0.0/8", Some(true)),
            ("10.0.0.0/8", "10.0.0.0/8", Some(false)),
            ("11.0.0.0/16", "10.0.0.0/8", Some(false)),
            ("fe80::/64", "::/0", Some(true)),
            ("10.0.0.0/8", "::/0", Some(false)),
            ("x", "::/0", None),
        ] {
            assert_eq!(is_strict_subnet(part, whole), fits, "{part} of {whole}");
        }
    }
}

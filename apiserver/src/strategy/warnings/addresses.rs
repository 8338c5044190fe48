//! Warnings about IP addresses and CIDRs that are not in canonical form.

use crate::builtin::parse_ipv4_sloppy;
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns the warning about an IP address.
pub(super) fn ip_warning(path: &str, value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty())?;
    let parsed = text.parse::<IpAddr>();
    let standard = match parsed {
        Ok(IpAddr::V4(_)) => None,
        Ok(IpAddr::V6(address)) => address.to_ipv4_mapped(),
        Err(_) => parse_ipv4_sloppy(text),
    };
    if let Some(standard) = standard {
        return Some(format!(
            "{path}: non-standard IP address {text:?} is invalid: use \"{standard}\""
        ));
    }
    let canonical = parsed.ok()?.to_string();
    (canonical != text).then(|| {
        format!("{path}: IPv6 address {text:?} should be in RFC 5952 canonical format (\"{canonical}\")")
    })
}

/// Returns the warnings about a CIDR.
pub(super) fn cidr_warnings(path: &str, value: &Value) -> Vec<String> {
    let Some((text, address_text, bits)) = value.as_str().and_then(|text| {
        let (address_text, bits) = text.split_once('/')?;
        Some((text, address_text, bits.parse::<u32>().ok()?))
    }) else {
        return vec![];
    };
    let parsed = address_text.parse::<IpAddr>().ok();
    let mapped = match parsed {
        Some(IpAddr::V6(address)) => address.to_ipv4_mapped(),
        _ => None,
    };
    let address = mapped.map(IpAddr::V4).or(parsed);
    let Some(address) = address.or_else(|| parse_ipv4_sloppy(address_text).map(IpAddr::V4)) else {
        return vec![];
    };
    let bits = if mapped.is_some() {
        bits.saturating_sub(96)
    } else {
        bits
    };
    let Some(start) = first_address(address, bits) else {
        return vec![];
    };
    let mut warnings = vec![];
    if start != address {
        let max_bits = if address.is_ipv4() && mapped.is_none() {
            32
        } else {
            128
        };
        warnings.push(format!(
            "{path}: CIDR value {text:?} is ambiguous in this context (should be \"{start}/{bits}\" or \"{address}/{max_bits}\"?)"
        ));
    }
    if parsed.is_none() || mapped.is_some() {
        warnings.push(format!(
            "{path}: non-standard CIDR value {text:?} is invalid: use \"{start}/{bits}\""
        ));
    }
    if warnings.is_empty() && address.is_ipv6() && address.to_string() != address_text {
        warnings.push(format!(
            "{path}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format (\"{address}/{bits}\")"
        ));
    }
    warnings
}

/// Returns the first address of a CIDR.
fn first_address(address: IpAddr, bits: u32) -> Option<IpAddr> {
    match address {
        IpAddr::V4(address) => {
            let rest = u32::MAX.checked_shr(bits).unwrap_or(0);
            (bits <= 32).then(|| Ipv4Addr::from_bits(address.to_bits() & !rest).into())
        }
        IpAddr::V6(address) => {
            let rest = u128::MAX.checked_shr(bits).unwrap_or(0);
            (bits <= 128).then(|| Ipv6Addr::from_bits(address.to_bits() & !rest).into())
        }
    }
}

//! Addresses that are not written as they should be.

use crate::builtin::padded;
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What is said of an address.
pub(super) fn address(path: &str, value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty())?;
    match text.parse::<IpAddr>() {
        Err(_) => {
            let meant = padded(text)?;
            Some(format!(
                "{path}: non-standard IP address {text:?} is invalid: use \"{meant}\""
            ))
        }
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            let meant = address.to_ipv4_mapped()?;
            Some(format!(
                "{path}: non-standard IP address {text:?} is invalid: use \"{meant}\""
            ))
        }
        Ok(IpAddr::V6(address)) if address.to_string() != text => Some(format!(
            "{path}: IPv6 address {text:?} should be in RFC 5952 canonical format (\"{address}\")"
        )),
        Ok(_) => None,
    }
}

/// What is said of a network.
pub(super) fn network(path: &str, value: &Value) -> Vec<String> {
    let Some((text, written, bits)) = value.as_str().and_then(|text| {
        let (written, bits) = text.split_once('/')?;
        Some((text, written, bits.parse::<u32>().ok()?))
    }) else {
        return vec![];
    };
    let standard = written.parse::<IpAddr>().ok();
    let mapped = match standard {
        Some(IpAddr::V6(address)) => address.to_ipv4_mapped(),
        _ => None,
    };
    let address = mapped.map(IpAddr::V4).or(standard);
    let Some(address) = address.or_else(|| padded(written).map(IpAddr::V4)) else {
        return vec![];
    };
    let bits = if mapped.is_some() {
        bits.saturating_sub(96)
    } else {
        bits
    };
    let Some(start) = masked(address, bits) else {
        return vec![];
    };
    let mut warnings = vec![];
    if start != address {
        let all = if address.is_ipv4() && mapped.is_none() {
            32
        } else {
            128
        };
        warnings.push(format!(
            "{path}: CIDR value {text:?} is ambiguous in this context (should be \"{start}/{bits}\" or \"{address}/{all}\"?)"
        ));
    }
    if standard.is_none() || mapped.is_some() {
        warnings.push(format!(
            "{path}: non-standard CIDR value {text:?} is invalid: use \"{start}/{bits}\""
        ));
    }
    if warnings.is_empty() && address.is_ipv6() && address.to_string() != written {
        warnings.push(format!(
            "{path}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format (\"{address}/{bits}\")"
        ));
    }
    warnings
}

/// The first address of a network.
fn masked(address: IpAddr, bits: u32) -> Option<IpAddr> {
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

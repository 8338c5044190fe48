//! Addresses that are not written as they should be.

use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr};

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

/// An address whose numbers have zeros before them.
fn padded(text: &str) -> Option<Ipv4Addr> {
    let mut numbers = text.split('.').map(|part| part.parse::<u8>().ok());
    let address = [
        numbers.next()??,
        numbers.next()??,
        numbers.next()??,
        numbers.next()??,
    ];
    numbers.next().is_none().then(|| address.into())
}

//! Addresses and networks as Go reads them, with its messages about texts that are none.

use super::original;
use crate::quote::quoted;
use kube_cel::cel::extractors::This;
use kube_cel::cel::{Context, ExecutionError, ResolveResult, Value};
use std::net::IpAddr;

/// Replaces the functions.
pub(super) fn register(context: &mut Context<'_>) {
    context.add_function("cidr", cidr);
    context.add_function("ip", ip);
    context.add_function("isCIDR", is_cidr);
    context.add_function("ip.isCanonical", is_canonical);
}

fn cidr(This(this): This<Value>) -> ResolveResult {
    let Value::String(text) = &this else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let network = if is_network(text) {
        original("cidr", this.clone()).ok()
    } else {
        None
    };
    network.ok_or_else(|| ExecutionError::function_error("@cidr", cidr_error(text)))
}

/// The address of a text, or of a network.
fn ip(This(this): This<Value>) -> ResolveResult {
    let Value::String(text) = &this else {
        return original("ip", this);
    };
    let failed = |_| ExecutionError::function_error("@ip", ip_error(text));
    original("ip", this.clone()).map_err(failed)
}

fn is_canonical(This(this): This<Value>) -> ResolveResult {
    let Value::String(text) = &this else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let failed = |_| ExecutionError::function_error("@ip", ip_error(text));
    original("ip.isCanonical", this.clone()).map_err(failed)
}

fn is_cidr(This(this): This<Value>) -> ResolveResult {
    match &this {
        Value::String(text) if !is_network(text) => Ok(Value::Bool(false)),
        _ => original("isCIDR", this),
    }
}

/// Whether a text has the form of a network in Go: no number begins with a zero, and `::` stands for at least one group.
fn is_network(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let has_zero = bits.len() > 1 && bits.starts_with('0');
    address.parse::<IpAddr>().is_ok() && !has_zero
}

/// Returns kube-apiserver's message for a text that is no address of the function `ip`.
fn ip_error(text: &str) -> String {
    let why = address_error(text).unwrap_or_else(|| "unable to parse IP".to_owned());
    let parse = format!("ParseAddr({}): {why}", quoted(text));
    format!(
        "IP Address {} parse error during conversion from string: {parse}",
        quoted(text)
    )
}

/// Returns kube-apiserver's message for a text that is no network of the function `cidr`.
fn cidr_error(text: &str) -> String {
    const WRAPPED: &str = "network address parse error during conversion from string";
    let why = match text.rsplit_once('/') {
        None => "no '/'".to_owned(),
        Some((address, bits)) => {
            let is_number =
                bits == "0" || !bits.starts_with('0') && bits.bytes().all(|byte| byte.is_ascii_digit());
            match (address_error(address), bits.parse::<i64>()) {
                (Some(why), _) => format!("ParseAddr({}): {why}", quoted(address)),
                (None, Ok(_)) if is_number => "prefix length out of range".to_owned(),
                _ => format!("bad bits after slash: {}", quoted(bits)),
            }
        }
    };
    format!("{WRAPPED}: {WRAPPED}: netip.ParsePrefix({}): {why}", quoted(text))
}

/// Returns why a text is no address; None if it is one.
fn address_error(text: &str) -> Option<String> {
    if text.parse::<IpAddr>().is_ok() {
        return None;
    }
    let why = match text.find(['.', ':', '%']).map(|at| text.as_bytes()[at]) {
        Some(b'.') => return Some(ipv4_error(text)),
        Some(b'%') => "missing IPv6 address",
        _ => "unable to parse IP",
    };
    Some(why.to_owned())
}

fn ipv4_error(text: &str) -> String {
    let (mut number, mut digits, mut dots) = (0_u32, 0, 0);
    for (at, c) in text.char_indices() {
        match c.to_digit(10) {
            Some(_) if digits == 1 && number == 0 => {
                return "IPv4 field has octet with leading zero".to_owned();
            }
            Some(digit) => {
                number = number * 10 + digit;
                digits += 1;
                if number > 255 {
                    return "IPv4 field has value >255".to_owned();
                }
            }
            None if c != '.' => return format!("unexpected character (at {})", quoted(&text[at..])),
            None if digits == 0 || at + 1 == text.len() => {
                return format!(
                    "IPv4 field must have at least one digit (at {})",
                    quoted(&text[at..])
                );
            }
            None if dots == 3 => return "IPv4 address too long".to_owned(),
            None => (number, digits, dots) = (0, 0, dots + 1),
        }
    }
    "IPv4 address too short".to_owned()
}

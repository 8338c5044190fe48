//! A parser for URLs with the error messages of Go's `net/url`.

use crate::quote::quoted;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The parts of a URL; absent parts are empty.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Url<'a> {
    /// The scheme in lower case.
    pub(super) scheme: String,
    pub(super) user: &'a str,
    pub(super) host: &'a str,
    pub(super) query: &'a str,
    pub(super) fragment: &'a str,
}

impl<'a> Url<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let (whole, fragment) = text.split_once('#').unwrap_or((text, ""));
        let parse_error = |text: &str, reason: String| format!("parse {}: {reason}", quoted(text));
        let url = Self::without_fragment(whole).map_err(|reason| parse_error(whole, reason))?;
        check_escapes(fragment).map_err(|reason| parse_error(text, reason))?;
        Ok(Self { fragment, ..url })
    }

    fn without_fragment(text: &'a str) -> Result<Self, String> {
        if text.bytes().any(|byte| byte.is_ascii_control()) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let (scheme, rest) = split_scheme(text)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let url = Self {
            scheme: scheme.to_lowercase(),
            query,
            ..Self::default()
        };
        if !rest.starts_with('/') {
            if !scheme.is_empty() {
                // An opaque URL has no path to check.
                return Ok(url);
            }
            if rest.split('/').next().unwrap_or_default().contains(':') {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let authority = rest
            .strip_prefix("//")
            .filter(|rest| !scheme.is_empty() || !rest.starts_with('/'));
        let Some(authority) = authority else {
            check_escapes(rest)?;
            return Ok(url);
        };
        let (authority, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        check_host(host)?;
        if !user
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(letter))
        {
            return Err("net/url: invalid userinfo".to_owned());
        }
        check_escapes(user)?;
        check_escapes(path)?;
        Ok(Self { user, host, ..url })
    }
}

/// Splits off the scheme, if there is a valid one.
fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    match text.split_once(':') {
        Some(("", _)) => Err("missing protocol scheme".to_owned()),
        Some((scheme, rest)) if is_scheme(scheme) => Ok((scheme, rest)),
        _ => Ok(("", text)),
    }
}

fn check_host(host: &str) -> Result<(), String> {
    let port = match (host.rfind('['), host.find(':')) {
        (Some(0), _) => {
            let end = host.rfind(']').ok_or("missing ']' in host")?;
            check_port(&host[end + 1..])?;
            let address = &host[1..end];
            let (address, _) = address.split_once("%25").unwrap_or((address, ""));
            check_host_characters(address)?;
            return if address.parse::<Ipv6Addr>().is_ok() {
                Ok(())
            } else if address.parse::<Ipv4Addr>().is_ok() {
                Err("invalid IP-literal".to_owned())
            } else {
                let address = quoted(address);
                Err(format!("invalid host: ParseAddr({address}): unable to parse IP"))
            };
        }
        (Some(_), _) => return Err("invalid IP-literal".to_owned()),
        (None, colon) => colon.map_or("", |colon| &host[colon..]),
    };
    check_port(port)?;
    check_host_characters(host)
}

fn check_port(port: &str) -> Result<(), String> {
    let digits = port.strip_prefix(':').unwrap_or(port);
    let is_port =
        port.is_empty() || (digits.len() < port.len() && digits.bytes().all(|byte| byte.is_ascii_digit()));
    if is_port {
        Ok(())
    } else {
        Err(format!("invalid port {} after host", quoted(port)))
    }
}

/// Checks the characters of a host: some ASCII characters are not allowed, nor may they be percent-encoded.
fn check_host_characters(host: &str) -> Result<(), String> {
    let mut rest = host;
    while let Some(letter) = rest.chars().next() {
        if letter == '%' {
            let escape = parse_escape(rest)?;
            if escape < "%8" && escape != "%25" {
                return Err(invalid_escape(escape));
            }
            rest = &rest[escape.len()..];
            continue;
        }
        let is_host =
            !letter.is_ascii() || letter.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"".contains(letter);
        if !is_host {
            let letter = quoted(&letter.to_string());
            return Err(format!("invalid character {letter} in host name"));
        }
        rest = &rest[letter.len_utf8()..];
    }
    Ok(())
}

/// Checks that each percent sign is followed by two hexadecimal digits.
fn check_escapes(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('%') {
        parse_escape(&text[at..])?;
    }
    Ok(())
}

/// Returns the percent-encoded byte at the start of a text.
fn parse_escape(text: &str) -> Result<&str, String> {
    let end = text.char_indices().nth(3).map_or(text.len(), |(end, _)| end);
    let (escape, digits) = (&text[..end], &text[1..end]);
    if digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        Ok(escape)
    } else {
        Err(invalid_escape(escape))
    }
}

fn invalid_escape(text: &str) -> String {
    format!("invalid URL escape {}", quoted(text))
}

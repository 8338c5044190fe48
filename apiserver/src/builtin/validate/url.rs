//! URLs as Go reads them, and its words for those that are none.

use crate::quote::quoted;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The parts of a URL; what is not there is empty.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Url<'a> {
    /// In lower case.
    pub(super) scheme: String,
    pub(super) user: &'a str,
    pub(super) host: &'a str,
    pub(super) query: &'a str,
    pub(super) fragment: &'a str,
}

impl<'a> Url<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let (whole, fragment) = text.split_once('#').unwrap_or((text, ""));
        let told = |text: &str, why: String| format!("parse {}: {why}", quoted(text));
        let url = Self::without_fragment(whole).map_err(|why| told(whole, why))?;
        escapes(fragment).map_err(|why| told(text, why))?;
        Ok(Self { fragment, ..url })
    }

    fn without_fragment(text: &'a str) -> Result<Self, String> {
        if text.bytes().any(|byte| byte.is_ascii_control()) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let (scheme, rest) = scheme(text)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let url = Self {
            scheme: scheme.to_lowercase(),
            query,
            ..Self::default()
        };
        if !rest.starts_with('/') {
            if !scheme.is_empty() {
                // What follows is no path.
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
            escapes(rest)?;
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
        escapes(user)?;
        escapes(path)?;
        Ok(Self { user, host, ..url })
    }
}

/// What is before the first colon, if it can be a scheme.
fn scheme(text: &str) -> Result<(&str, &str), String> {
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
            letters(address)?;
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
    letters(host)
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

/// The letters of a host: of ASCII some, and of what is escaped none.
fn letters(host: &str) -> Result<(), String> {
    let mut rest = host;
    while let Some(letter) = rest.chars().next() {
        if letter == '%' {
            let escape = escape(rest)?;
            if escape < "%8" && escape != "%25" {
                return Err(no_escape(escape));
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

/// Whether each per cent sign is followed by two digits.
fn escapes(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('%') {
        escape(&text[at..])?;
    }
    Ok(())
}

/// The escaped byte that a text begins with.
fn escape(text: &str) -> Result<&str, String> {
    let end = text.char_indices().nth(3).map_or(text.len(), |(end, _)| end);
    let (escape, digits) = (&text[..end], &text[1..end]);
    if digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        Ok(escape)
    } else {
        Err(no_escape(escape))
    }
}

fn no_escape(text: &str) -> String {
    format!("invalid URL escape {}", quoted(text))
}

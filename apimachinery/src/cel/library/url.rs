//! URLs as Go reads them, and the functions of rules about them. The standard for browsers, by which kube-cel reads URLs, knows fewer, changes
//! paths and hosts, and drops default ports.

use crate::cel::functions::opaque;
use crate::quote::quoted;
use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::{Key, Map, Opaque};
use kube_cel::cel::{Context, ExecutionError, ResolveResult, Value};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::Ipv6Addr;
use std::sync::Arc;

/// A parsed URL.
#[derive(Debug, Default, PartialEq, Eq)]
struct Url {
    scheme: String,
    /// With the port.
    host: String,
    /// As it was written, if that is a valid encoding.
    escaped_path: String,
    query: String,
}

impl Opaque for Url {
    fn runtime_type_name(&self) -> &'static str {
        "kubernetes.URL"
    }
}

/// Replaces the functions.
pub(super) fn register(context: &mut Context<'_>) {
    context.add_function("isURL", |text: Arc<String>| parse(&text, Source::Request).is_ok());
    context.add_function("url", url);
    context.add_function("getScheme", |This(this): This<Value>| {
        with(&this, |url| text(&url.scheme))
    });
    context.add_function("getHost", |This(this): This<Value>| {
        with(&this, |url| text(&url.host))
    });
    context.add_function("getHostname", |This(this): This<Value>| {
        with(&this, |url| {
            let host = split_port(&url.host).0;
            let literal = host
                .strip_prefix('[')
                .and_then(|literal| literal.strip_suffix(']'));
            text(literal.unwrap_or(host))
        })
    });
    context.add_function("getPort", |This(this): This<Value>| {
        with(&this, |url| text(split_port(&url.host).1))
    });
    context.add_function("getEscapedPath", |This(this): This<Value>| {
        with(&this, |url| text(&url.escaped_path))
    });
    context.add_function("getQuery", |This(this): This<Value>| {
        with(&this, |url| query_of(&url.query))
    });
}

fn url(This(value): This<Value>) -> ResolveResult {
    let Value::String(value) = value else {
        return Err(ExecutionError::NoSuchOverload);
    };
    // Only the second time as a URL with a fragment, as kube-apiserver does.
    let (without_fragment, fragment) = value.split_once('#').unwrap_or((&value, ""));
    let parsed = parse(&value, Source::Request)
        .and_then(|_| unescape(fragment, Part::Path))
        .and_then(|_| parse(without_fragment, Source::Text));
    let parsed = parsed.map_err(|why| {
        let why = format!(
            "URL parse error during conversion from string: parse {}: {why}",
            quoted(&value)
        );
        ExecutionError::function_error("url", why)
    })?;
    Ok(opaque(parsed))
}

/// Returns why a text is no URL of a request, with the words of Go.
pub(super) fn request_uri_error(text: &str) -> Option<String> {
    let error = parse(text, Source::Request).err()?;
    Some(format!("parse {}: {error}", quoted(text)))
}

fn with(value: &Value, get: impl FnOnce(&Url) -> Value) -> ResolveResult {
    match value {
        Value::Opaque(value) => value
            .downcast_ref::<Url>()
            .map(get)
            .ok_or(ExecutionError::NoSuchOverload),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn text(text: &str) -> Value {
    Value::String(Arc::new(text.to_owned()))
}

/// Where a URL comes from: without a scheme, two slashes at the beginning of a request are a part of the path.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    Request,
    Text,
}

/// Where a part of a URL stands, which decides what it may contain.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Path,
    Host,
    Zone,
    Query,
    UserInfo,
}

fn parse(raw: &str, source: Source) -> Result<Url, String> {
    if raw.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if raw.is_empty() {
        return Err("empty url".to_owned());
    }
    if raw == "*" {
        return Ok(Url {
            escaped_path: "*".to_owned(),
            ..Url::default()
        });
    }
    let (scheme, rest) = split_scheme(raw)?;
    let scheme = scheme.to_ascii_lowercase();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut url = Url {
        query: query.to_owned(),
        ..Url::default()
    };
    if !rest.starts_with('/') {
        if scheme.is_empty() {
            return Err("invalid URI for request".to_owned());
        }
        // What follows the scheme is opaque.
        url.scheme = scheme;
        return Ok(url);
    }
    let mut path = rest;
    let has_authority = !scheme.is_empty() || source == Source::Text && !rest.starts_with("///");
    if let (true, Some(after)) = (has_authority, rest.strip_prefix("//")) {
        let end = after.find('/').unwrap_or(after.len());
        let authority = &after[..end];
        path = &after[end..];
        let host = match authority.rsplit_once('@') {
            Some((user, host)) => {
                check_user_info(user)?;
                host
            }
            None => authority,
        };
        url.host = parse_host(&scheme, host)?;
    }
    url.scheme = scheme;
    url.escaped_path = escaped_path(path)?;
    Ok(url)
}

fn split_scheme(raw: &str) -> Result<(&str, &str), String> {
    for (at, byte) in raw.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&raw[..at], &raw[at + 1..])),
            _ => break,
        }
    }
    Ok(("", raw))
}

fn check_user_info(user: &str) -> Result<(), String> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if !user.bytes().all(is_valid) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    unescape(user, Part::UserInfo).map(drop)
}

fn parse_host(scheme: &str, host: &str) -> Result<String, String> {
    let invalid_literal = || "invalid IP-literal".to_owned();
    match host.rfind('[') {
        Some(0) => {
            let end = host.rfind(']').ok_or("missing ']' in host")?;
            let port = &host[end + 1..];
            check_port(port)?;
            let name = &host[1..end];
            let (address, zone) = name.split_at(name.find("%25").unwrap_or(name.len()));
            let address = unescape(address, Part::Host)?;
            let zone = unescape(zone, Part::Zone)?;
            if !zone.is_empty() && zone.len() < 2 || address.parse::<Ipv6Addr>().is_err() {
                return Err(invalid_literal());
            }
            return Ok(format!("[{address}{zone}]{port}"));
        }
        Some(_) => return Err(invalid_literal()),
        None => {}
    }
    // Only these schemes have one port for sure.
    let colon = if matches!(scheme, "http" | "https") {
        host.find(':')
    } else {
        host.rfind(':')
    };
    if let Some(colon) = colon {
        check_port(&host[colon..])?;
    }
    unescape(host, Part::Host)
}

fn check_port(port: &str) -> Result<(), String> {
    let is_valid = |port: &str| matches!(port.strip_prefix(':'), Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()));
    if port.is_empty() || is_valid(port) {
        return Ok(());
    }
    Err(format!("invalid port {} after host", quoted(port)))
}

/// Splits a host and its port; the port is empty if there is none.
fn split_port(host: &str) -> (&str, &str) {
    match host.rfind(':') {
        Some(colon) if check_port(&host[colon..]).is_ok() => (&host[..colon], &host[colon + 1..]),
        _ => (host, ""),
    }
}

/// True for bytes that stand for themselves.
fn is_plain(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return true;
    }
    match part {
        Part::Host | Part::Zone => b"!$&'()*+,;=:[]<>\"".contains(&byte),
        Part::Path => b"$&+,/:;=@".contains(&byte),
        Part::Query | Part::UserInfo => false,
    }
}

fn unescape(text: &str, part: Part) -> Result<String, String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'%' => {
                let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
                let value = digits
                    .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
                    .and_then(|digits| u8::from_str_radix(digits, 16).ok());
                let Some(value) = value else {
                    let shown: String = text[text.len() - rest.len() - 1..].chars().take(3).collect();
                    return Err(format!("invalid URL escape {}", quoted(&shown)));
                };
                // In a host, only bytes outside ASCII may be escaped; in a zone, also bytes that stand for themselves.
                let is_refused = match part {
                    Part::Host => value < 0x80,
                    Part::Zone => {
                        value != b'%' && value != b' ' && !is_plain(value, Part::Host) && value < 0x80
                    }
                    _ => false,
                };
                if is_refused {
                    let shown = format!("%{}", digits.unwrap_or_default());
                    return Err(format!("invalid URL escape {}", quoted(&shown)));
                }
                bytes.push(value);
                rest = &after[2..];
            }
            b'+' if part == Part::Query => bytes.push(b' '),
            _ if matches!(part, Part::Host | Part::Zone) && byte < 0x80 && !is_plain(byte, part) => {
                let shown = quoted(&char::from(byte).to_string());
                return Err(format!("invalid character {shown} in host name"));
            }
            _ => bytes.push(byte),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The path as it was written, or escaped if it is not validly encoded.
fn escaped_path(path: &str) -> Result<String, String> {
    let unescaped = unescape(path, Part::Path)?;
    let is_valid = |byte: u8| b"!$&'()*+,;=:@[]%".contains(&byte) || is_plain(byte, Part::Path);
    if path.bytes().all(is_valid) {
        return Ok(path.to_owned());
    }
    let mut escaped = String::with_capacity(path.len());
    for byte in unescaped.bytes() {
        if is_plain(byte, Part::Path) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    Ok(escaped)
}

/// The values of a query by their names, without pairs that are malformed.
fn query_of(query: &str) -> Value {
    let mut values: HashMap<Key, Vec<Value>> = HashMap::new();
    let pairs = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'));
    for pair in pairs {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let unescaped =
            unescape(name, Part::Query).and_then(|name| Ok((name, unescape(value, Part::Query)?)));
        if let Ok((name, value)) = unescaped {
            values.entry(Key::from(name)).or_default().push(text(&value));
        }
    }
    let entries = values
        .into_iter()
        .map(|(name, values)| (name, Value::List(Arc::new(values))));
    let map: HashMap<Key, Value> = entries.collect();
    Value::Map(Map { map: Arc::new(map) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_as_by_go() {
        for (raw, scheme, host, path) in [
            ("https://example.com", "https", "example.com", ""),
            (
                "HTTPS://EXAMPLE.com:443/A/../b",
                "https",
                "EXAMPLE.com:443",
                "/A/../b",
            ),
            ("/a/b", "", "", "/a/b"),
            ("//h/p", "", "", "//h/p"),
            ("mailto:x@y", "mailto", "", ""),
            ("http://h/^`|", "http", "h", "/%5E%60%7C"),
            (
                "https://u:p@[fe80::1%25en0]:80/x%2Fy?q=1",
                "https",
                "[fe80::1%en0]:80",
                "/x%2Fy",
            ),
            ("*", "", "", "*"),
        ] {
            let url = parse(raw, Source::Request).unwrap_or_else(|why| panic!("{raw}: {why}"));
            let found = (url.scheme.as_str(), url.host.as_str(), url.escaped_path.as_str());
            assert_eq!(found, (scheme, host, path), "{raw}");
        }
        assert_eq!(parse("//h/p", Source::Text).unwrap().host, "h");
        for raw in [
            "",
            "a/b",
            ":x",
            "https://h#f",
            "https://h:x/",
            "https://h/%zz",
            "https://h\n/",
            "https://%41.com",
            "https://[::1",
            "https://a[::1]",
        ] {
            assert!(parse(raw, Source::Request).is_err(), "{raw}");
        }
    }
}

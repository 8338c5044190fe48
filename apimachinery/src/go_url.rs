//! URLs as Go's `net/url` parses them, with its errors.

use crate::quote::quoted;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A parsed URL. Absent parts are empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// In lower case.
    pub scheme: String,
    /// Name and password, as they were written.
    pub user: String,
    /// With the port.
    pub host: String,
    /// As it was written, if that is a valid encoding.
    pub escaped_path: String,
    /// As it was written.
    pub query: String,
    /// Unescaped.
    pub fragment: String,
}

impl Url {
    /// Parses a URL or a reference, like Go's `url.Parse`.
    ///
    /// # Errors
    ///
    /// If the text is invalid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (whole, fragment) = text.split_once('#').unwrap_or((text, ""));
        let url = parse(whole, Source::Text).map_err(|why| parse_error(whole, &why))?;
        let fragment = unescape(fragment, Part::Path).map_err(|why| parse_error(text, &why))?;
        Ok(Self { fragment, ..url })
    }

    /// The path without escapes.
    #[must_use]
    pub fn path(&self) -> String {
        unescape(&self.escaped_path, Part::Path).unwrap_or_default()
    }

    /// Parses the URL of a request, like Go's `url.ParseRequestURI`: an absolute URL or path, without a fragment.
    ///
    /// # Errors
    ///
    /// If the text is invalid.
    pub fn parse_request(text: &str) -> Result<Self, String> {
        parse(text, Source::Request).map_err(|why| parse_error(text, &why))
    }
}

/// Splits a host and its port; the port is empty if there is none.
#[must_use]
pub fn split_port(host: &str) -> (&str, &str) {
    match host.rfind(':') {
        Some(colon) if check_port(&host[colon..]).is_ok() => (&host[..colon], &host[colon + 1..]),
        _ => (host, ""),
    }
}

/// Unescapes the name or the value of a query parameter.
///
/// # Errors
///
/// If an escape is invalid.
pub fn unescape_query(text: &str) -> Result<String, String> {
    unescape(text, Part::Query)
}

/// Escapes a path, as Go's `URL.String` does.
#[must_use]
pub fn escape_path(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for byte in path.bytes() {
        if is_plain(byte, Part::Path) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

fn parse_error(text: &str, why: &str) -> String {
    format!("parse {}: {why}", quoted(text))
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
    if raw.is_empty() && source == Source::Request {
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
        if !scheme.is_empty() {
            // What follows the scheme is opaque.
            url.scheme = scheme;
            return Ok(url);
        }
        if source == Source::Request {
            return Err("invalid URI for request".to_owned());
        }
        if rest.split('/').next().unwrap_or_default().contains(':') {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let mut path = rest;
    let has_authority = !scheme.is_empty() || source == Source::Text && !rest.starts_with("///");
    if let (true, Some(after)) = (has_authority, rest.strip_prefix("//")) {
        let end = after.find('/').unwrap_or(after.len());
        let authority = &after[..end];
        path = &after[end..];
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        url.host = parse_host(&scheme, host)?;
        check_user_info(user)?;
        user.clone_into(&mut url.user);
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
    match host.rfind('[') {
        Some(0) => {
            let end = host.rfind(']').ok_or("missing ']' in host")?;
            let port = &host[end + 1..];
            check_port(port)?;
            let name = &host[1..end];
            let (address, zone) = name.split_at(name.find("%25").unwrap_or(name.len()));
            let address = unescape(address, Part::Host)?;
            let zone = unescape(zone, Part::Zone)?;
            check_literal(&address, &zone)?;
            return Ok(format!("[{address}{zone}]{port}"));
        }
        Some(_) => return Err("invalid IP-literal".to_owned()),
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

/// Checks an address in brackets and its zone, which begins with a percent sign.
fn check_literal(address: &str, zone: &str) -> Result<(), String> {
    let why = match address.parse::<Ipv6Addr>() {
        Ok(_) if zone != "%" => return Ok(()),
        Ok(_) => "zone must be a non-empty string",
        Err(_) if zone.is_empty() && address.parse::<Ipv4Addr>().is_ok() => {
            return Err("invalid IP-literal".to_owned());
        }
        Err(_) => "unable to parse IP",
    };
    Err(format!(
        "invalid host: ParseAddr({}): {why}",
        quoted(&format!("{address}{zone}"))
    ))
}

fn check_port(port: &str) -> Result<(), String> {
    let is_valid = |port: &str| matches!(port.strip_prefix(':'), Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()));
    if port.is_empty() || is_valid(port) {
        return Ok(());
    }
    Err(format!("invalid port {} after host", quoted(port)))
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
                // In a host, only bytes outside ASCII may be escaped; in a zone, only those that may stand there unescaped.
                let is_refused = match part {
                    Part::Host => value < 0x80 && value != b'%',
                    Part::Zone => value != b'%' && value != b' ' && !is_plain(value, Part::Host),
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
    Ok(escape_path(&unescaped))
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
            let url = Url::parse_request(raw).unwrap_or_else(|why| panic!("{raw}: {why}"));
            let found = (url.scheme.as_str(), url.host.as_str(), url.escaped_path.as_str());
            assert_eq!(found, (scheme, host, path), "{raw}");
        }
        assert_eq!(Url::parse("//h/p").unwrap().host, "h");
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
            assert!(Url::parse_request(raw).is_err(), "{raw}");
        }
        for raw in [
            "a:b/c\u{1}",
            "1a:b",
            "http://[1.2.3.4]/",
            "http://[fe80::1%25]/",
            "#%zz",
        ] {
            assert!(Url::parse(raw).is_err(), "{raw}");
        }
        let url = Url::parse("http://u:p@h/?q#a%20b").unwrap();
        let parts = (url.user.as_str(), url.query.as_str(), url.fragment.as_str());
        assert_eq!(parts, ("u:p", "q", "a b"));
        assert_eq!(Url::parse("").unwrap(), Url::default());
    }
}

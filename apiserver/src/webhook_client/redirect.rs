//! Where a request is sent, and where a redirection sends it next.

use super::Endpoint;
use http::header::LOCATION;
use http::uri::InvalidUri;
use http::{Response, Uri};

/// Go's client follows as many.
pub(super) const MAX_REDIRECTS: usize = 10;

/// Returns the location of a redirection, and whether the body is sent again.
pub(super) fn redirection<B>(response: &Response<B>) -> Option<(String, bool)> {
    let keeps_body = match response.status().as_u16() {
        301..=303 => false,
        307 | 308 => true,
        _ => return None,
    };
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    Some((location.to_owned(), keeps_body))
}

/// Where a request is sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    pub(super) url: Uri,
    /// What is dialed: for a Service the address of a pod.
    pub(super) address: (String, u16),
    /// The name that the certificate must have.
    pub(super) server_name: String,
    pub(super) is_tls: bool,
}

impl Target {
    /// The target of a webhook's call.
    pub(super) fn of(endpoint: &Endpoint, url: &str) -> Result<Self, String> {
        Ok(Self {
            url: parse(url).map_err(|error| error.to_string())?,
            address: endpoint.address.clone()?,
            server_name: endpoint.server_name.clone(),
            is_tls: true,
        })
    }

    /// The target of a location: a URL, or a path on the same host.
    pub(super) fn redirected(&self, location: &str) -> Result<Self, String> {
        let parse = |text: &str| {
            parse(text).map_err(|error| format!("failed to parse Location header {location:?}: {error}"))
        };
        let authority = self.url.authority().map_or("", http::uri::Authority::as_str);
        let scheme = if self.is_tls { "https" } else { "http" };
        let url = if location.contains("://") {
            parse(location)?
        } else if location.starts_with("//") {
            parse(&format!("{scheme}:{location}"))?
        } else if location.starts_with('/') {
            parse(&format!("{scheme}://{authority}{location}"))?
        } else {
            let folder = self.url.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            parse(&format!("{scheme}://{authority}{folder}/{location}"))?
        };
        if url.authority() == self.url.authority() && url.scheme() == self.url.scheme() {
            return Ok(Self { url, ..self.clone() });
        }
        let is_tls = match url.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            other => {
                let scheme = other.unwrap_or_default();
                return Err(format!("unsupported protocol scheme {scheme:?}"));
            }
        };
        let host = url.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = url.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        Ok(Self {
            address: (host.clone(), port),
            server_name: host,
            is_tls,
            url,
        })
    }
}

/// Parses a URL. The host may be followed by a query, which `Uri` does not accept, without a path.
fn parse(text: &str) -> Result<Uri, InvalidUri> {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    let Some(scheme) = scheme.filter(|scheme| !scheme.contains(['/', '?'])) else {
        return text.parse();
    };
    let host = scheme.len() + 3;
    match text[host..].find(['/', '?']) {
        Some(at) if text[host + at..].starts_with('?') => {
            let (host, query) = text.split_at(host + at);
            format!("{host}/{query}").parse()
        }
        _ => text.parse(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_need_no_path() {
        for (text, path) in [
            ("https://a.dev:443", "/"),
            ("https://a.dev:443?timeout=1s", "/?timeout=1s"),
            ("https://a.dev/b?c=/?d", "/b?c=/?d"),
            ("/b?c=d", "/b?c=d"),
            ("/b?c=http://x?y", "/b?c=http://x?y"),
        ] {
            assert_eq!(parse(text).unwrap().path_and_query().unwrap(), path, "{text}");
        }
    }

    #[test]
    fn locations_are_urls_and_paths() {
        let first = Target {
            url: "https://hook.shop.svc:443/a/b?timeout=10s".parse().unwrap(),
            address: ("10.0.0.7".to_owned(), 8443),
            server_name: "hook.shop.svc".to_owned(),
            is_tls: true,
        };
        for (location, url, address, is_tls) in [
            ("/c?x=1", "https://hook.shop.svc:443/c?x=1", "10.0.0.7:8443", true),
            ("c", "https://hook.shop.svc:443/a/c", "10.0.0.7:8443", true),
            ("//other.dev/c", "https://other.dev/c", "other.dev:443", true),
            (
                "https://127.0.0.1:9/c",
                "https://127.0.0.1:9/c",
                "127.0.0.1:9",
                true,
            ),
            ("http://[::1]/", "http://[::1]/", "::1:80", false),
        ] {
            let next = first.redirected(location).unwrap();
            assert_eq!(next.url, url, "{location}");
            assert_eq!(
                format!("{}:{}", next.address.0, next.address.1),
                address,
                "{location}"
            );
            assert_eq!(next.is_tls, is_tls, "{location}");
        }
        for (location, error) in [
            ("ftp://a.dev/", "unsupported protocol scheme \"ftp\""),
            (
                "https://a b/",
                "failed to parse Location header \"https://a b/\": invalid uri character",
            ),
        ] {
            assert_eq!(first.redirected(location).unwrap_err(), error);
        }
    }

    #[test]
    fn codes_of_redirections_keep_the_body_or_not() {
        let found = |code: u16| {
            let response = Response::builder()
                .status(code)
                .header(LOCATION, "/b")
                .body(())
                .unwrap();
            redirection(&response).map(|(_, keeps_body)| keeps_body)
        };
        assert_eq!([301, 302, 303].map(found), [Some(false); 3]);
        assert_eq!([307, 308].map(found), [Some(true); 2]);
        assert_eq!([200, 300, 304, 305, 404].map(found), [None; 5]);
        let response = Response::builder().status(307).body(()).unwrap();
        assert_eq!(redirection(&response), None);
    }
}

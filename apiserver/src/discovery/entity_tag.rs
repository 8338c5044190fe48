//! Entity tags of documents: clients keep a document, and ask whether it has changed.

use crate::render::{ApiResponse, respond};
use http::header::{CACHE_CONTROL, ETAG, EXPIRES, IF_NONE_MATCH, LOCATION, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use jiff::{SignedDuration, Timestamp};

/// How long a client may keep a document that it requested by its hash, as in kube-apiserver.
const LIFETIME: SignedDuration = SignedDuration::from_hours(365 * 24);

/// The tag of a document. It stands for the kinds that the document describes, so that it is known before the document is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntityTag(String);

impl EntityTag {
    /// Creates the tag of a document about kinds with this revision.
    pub(super) fn new(revision: u64) -> Self {
        Self(format!("{revision:016X}"))
    }

    /// Returns the tag without quotes: the hash in the path of a document.
    pub(super) fn hash(&self) -> &str {
        &self.0
    }

    /// Responds with a document, or with 304 if the client has it.
    pub(super) fn respond(&self, headers: &HeaderMap, document: impl FnOnce() -> ApiResponse) -> ApiResponse {
        self.respond_unless(self.is_known(headers), document)
    }

    /// As [`respond`](Self::respond), but understands only this tag, as kube-apiserver does for discovery.
    pub(super) fn respond_to_exact_tag(
        &self,
        headers: &HeaderMap,
        document: impl FnOnce() -> ApiResponse,
    ) -> ApiResponse {
        let sent = headers.get(IF_NONE_MATCH);
        let is_known = sent.is_some_and(|sent| sent.as_bytes() == self.quoted().as_bytes());
        self.respond_unless(is_known, document)
    }

    fn respond_unless(&self, is_known: bool, document: impl FnOnce() -> ApiResponse) -> ApiResponse {
        let mut response = if is_known {
            respond::status(StatusCode::NOT_MODIFIED)
        } else {
            document()
        };
        self.add_to(&mut response);
        response
    }

    /// Responds to the request for the document with a hash: with the document, which a client need not request again, or with its present
    /// path.
    pub(super) fn respond_to_hash(
        &self,
        hash: &str,
        headers: &HeaderMap,
        path: &str,
        document: impl FnOnce() -> ApiResponse,
    ) -> ApiResponse {
        if hash != self.0 {
            let mut response = respond::status(StatusCode::MOVED_PERMANENTLY);
            self.add_to(&mut response);
            insert(&mut response, LOCATION, path);
            return response;
        }
        let mut response = self.respond(headers, document);
        insert(&mut response, CACHE_CONTROL, "public, immutable");
        let expires = (Timestamp::now() + LIFETIME).strftime("%a, %d %b %Y %H:%M:%S UTC");
        insert(&mut response, EXPIRES, &expires.to_string());
        response
    }

    fn quoted(&self) -> String {
        format!("\"{}\"", self.0)
    }

    fn add_to(&self, response: &mut ApiResponse) {
        insert(response, ETAG, &self.quoted());
        insert(response, VARY, "Accept");
    }

    /// Whether the request says that the client has the document.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let values = headers.get_all(IF_NONE_MATCH).iter();
        values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(|tag| tag.trim().trim_start_matches("W/"))
            .any(|tag| tag == "*" || tag.trim_matches('"') == self.0)
    }
}

fn insert(response: &mut ApiResponse, name: http::HeaderName, value: &str) {
    // Tags, dates and paths of documents are valid values.
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = "/openapi/v3/api/v1?hash=000000000000000A";

    fn document() -> ApiResponse {
        respond::bytes(200, "application/json", "{}")
    }

    fn with_tag(tag: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static(tag))])
    }

    #[test]
    fn a_client_that_has_the_document_gets_no_body() {
        let tag = EntityTag::new(10);
        for (sent, code) in [
            ("\"000000000000000A\"", 304),
            ("\"B\", W/\"000000000000000A\"", 304),
            ("*", 304),
            ("\"B\"", 200),
            ("", 200),
        ] {
            let response = tag.respond(&with_tag(sent), document);
            assert_eq!(response.status(), code, "{sent}");
            assert_eq!(response.headers()[ETAG], "\"000000000000000A\"");
            assert_eq!(response.headers()[VARY], "Accept");
            let code = if sent == tag.quoted() { 304 } else { 200 };
            let exact = tag.respond_to_exact_tag(&with_tag(sent), document);
            assert_eq!(exact.status(), code, "{sent}");
        }
    }

    #[test]
    fn the_document_of_a_hash_does_not_expire_and_an_old_hash_leads_to_the_new_one() {
        let tag = EntityTag::new(10);
        let response = tag.respond_to_hash(tag.hash(), &HeaderMap::new(), NEW, document);
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()[CACHE_CONTROL], "public, immutable");
        assert!(response.headers().contains_key(EXPIRES));
        let response = tag.respond_to_hash("B", &HeaderMap::new(), NEW, document);
        assert_eq!(response.status(), 301);
        assert_eq!(response.headers()[LOCATION], NEW);
        assert!(!response.headers().contains_key(CACHE_CONTROL));
    }
}

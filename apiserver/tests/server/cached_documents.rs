//! Documents that clients keep: discovery and OpenAPI.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::client::TestServer;

const AGGREGATED: (&str, &str) = (
    "Accept",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
);

impl TestServer {
    /// Sends a GET request with these headers; returns status code, the entity tag, and the head of the response.
    async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> (u16, String, String) {
        let token = self.api.admin_token();
        let response = self.send(token, "GET", path, headers, b"").await;
        let tag = response.head.lines().find_map(|line| line.strip_prefix("etag: "));
        let tag = tag.unwrap_or_default().to_owned();
        (response.code, tag, response.head)
    }

    /// Returns the path of the document of a group and version, with its hash.
    async fn document_url(&self, path: &str) -> String {
        let index = self.get("/openapi/v3").await.expect(200);
        index["paths"][path]["serverRelativeURL"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

#[tokio::test]
async fn documents_are_sent_again_only_when_kinds_changed() {
    let server = TestServer::start().await;
    for (path, accept) in [
        ("/apis", AGGREGATED),
        ("/openapi/v2", ("Accept", "application/json")),
    ] {
        let (code, tag, _) = server.get_with(path, &[accept]).await;
        assert_eq!(code, 200);
        let known = ("If-None-Match", tag.as_str());
        let (code, same, _) = server.get_with(path, &[accept, known]).await;
        assert_eq!((code, &same), (304, &tag), "{path}");
    }
    let (_, before, _) = server.get_with("/apis", &[AGGREGATED]).await;
    server.define_foo().await;
    let known = ("If-None-Match", before.as_str());
    let (code, after, _) = server.get_with("/apis", &[AGGREGATED, known]).await;
    assert_eq!(code, 200);
    assert_ne!(before, after);
}

#[tokio::test]
async fn the_url_of_a_document_changes_with_its_group() {
    let server = TestServer::start().await;
    server.define_foo().await;
    let foos = server.document_url("apis/demo.dev/v1").await;
    let pods = server.document_url("api/v1").await;
    let (code, _, head) = server.get_with(&foos, &[]).await;
    assert_eq!(code, 200);
    assert!(head.contains("cache-control: public, immutable"), "{head}");
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.demo.dev";
    let rename = serde_json::json!({ "spec": { "names": { "shortNames": ["f"] } } });
    let patched = server.patch(definition, "application/merge-patch+json", rename);
    patched.await.expect(200);
    let mut new = foos.clone();
    while new == foos {
        new = server.document_url("apis/demo.dev/v1").await;
    }
    let (code, _, head) = server.get_with(&foos, &[]).await;
    assert_eq!(code, 301);
    assert!(head.contains(&format!("location: {new}")), "{head}");
    assert_eq!(server.document_url("api/v1").await, pods);
    for none in [
        "/openapi/v3/apis/none.dev/v1?hash=a",
        "/openapi/v3/apis/demo.dev/v9?hash=a",
    ] {
        let (code, tag, _) = server.get_with(none, &[]).await;
        assert_eq!((code, tag.as_str()), (404, ""));
    }
}

#[tokio::test]
async fn every_response_has_an_id_and_may_not_be_kept() {
    let server = TestServer::start().await;
    for path in [
        "/version",
        "/api/v1/namespaces/default",
        "/api/v1/namespaces/none",
    ] {
        let (_, _, head) = server.get_with(path, &[("Audit-ID", "my-request")]).await;
        assert!(head.contains("audit-id: my-request"), "{head}");
        assert!(head.contains("cache-control: no-cache, private"), "{head}");
        let (_, _, head) = server.get_with(path, &[]).await;
        let id = head.lines().find_map(|line| line.strip_prefix("audit-id: "));
        assert_eq!(id.unwrap().len(), 36);
    }
}

//! Where a webhook's `clientConfig` points to: a URL, or a port of a Service.

use crate::go_url::{Url, escape_path};
use crate::quote::quoted;
use crate::storage::Store;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

const HTTPS_PORT: u16 = 443;

/// The `clientConfig` of a webhook.
#[derive(Clone, Debug)]
pub(crate) struct ClientConfig {
    target: ConfigTarget,
    /// The CA bundle, as PEM.
    ca_bundle: Vec<u8>,
}

#[derive(Clone, Debug)]
enum ConfigTarget {
    Url(String),
    Service {
        namespace: String,
        name: String,
        path: String,
        port: u16,
    },
}

/// What to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// The URL without a query.
    pub(crate) url: String,
    /// The host in the URL, which the certificate must name.
    pub(crate) server_name: String,
    /// The host and port to connect to, or why there is none.
    pub(crate) address: Result<(String, u16), String>,
    /// The CA bundle, as PEM.
    pub(crate) ca_bundle: Vec<u8>,
}

impl ClientConfig {
    /// Reads a valid `clientConfig`.
    pub(crate) fn parse(config: &Value) -> Self {
        let service = &config["service"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let target = match config["url"].as_str() {
            Some(url) => ConfigTarget::Url(sent_url(url)),
            None => ConfigTarget::Service {
                namespace: text(&service["namespace"]),
                name: text(&service["name"]),
                path: sent_path(&text(&service["path"])),
                port: port(&service["port"]).unwrap_or(HTTPS_PORT),
            },
        };
        let ca_bundle = config["caBundle"].as_str().unwrap_or_default();
        Self {
            target,
            ca_bundle: BASE64_STANDARD.decode(ca_bundle).unwrap_or_default(),
        }
    }

    /// Returns what to connect to now. A Service is resolved to one of its ready endpoints, because there is no network of cluster IPs.
    pub(crate) fn resolve(&self, store: &Store) -> Endpoint {
        let (url, server_name, address) = match &self.target {
            ConfigTarget::Url(url) => {
                let (host, port) = host_and_port(url);
                (url.clone(), host.clone(), Ok((host, port)))
            }
            ConfigTarget::Service {
                namespace,
                name,
                path,
                port,
            } => {
                let host = format!("{name}.{namespace}.svc");
                let url = format!("https://{host}:{port}{path}");
                (url, host, resolve_service(store, namespace, name, *port))
            }
        };
        Endpoint {
            url,
            server_name,
            address,
            ca_bundle: self.ca_bundle.clone(),
        }
    }
}

/// Returns the URL that is called: kube-apiserver's client unescapes the path, cleans it and escapes it again.
fn sent_url(url: &str) -> String {
    Url::parse(url).map_or_else(
        |_| url.to_owned(),
        |url| format!("{}://{}{}", url.scheme, url.host, sent_path(&url.path())),
    )
}

/// Returns the path that is called: absolute, without empty parts, `.` and `..`, and escaped.
fn sent_path(path: &str) -> String {
    let mut parts = vec![];
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    escape_path(&format!("/{}", parts.join("/")))
}

/// Splits the authority of a URL. The port defaults to that of HTTPS.
fn host_and_port(url: &str) -> (String, u16) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()),
        _ => (authority, None),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (host.to_owned(), port.unwrap_or(HTTPS_PORT))
}

/// Returns the address of a ready endpoint of a Service's port.
fn resolve_service(store: &Store, namespace: &str, name: &str, port: u16) -> Result<(String, u16), String> {
    let key = Store::key(namespace, name);
    let service = store.get("services", &key);
    let service = service.ok_or_else(|| format!("service {} not found", quoted(name)))?;
    let spec = &service.value()["spec"];
    if spec["type"] == "ExternalName" {
        let host = spec["externalName"].as_str().unwrap_or_default();
        return Ok((host.to_owned(), port));
    }
    let ports = spec["ports"].as_array().into_iter().flatten();
    let mut named = ports.filter(|known| self::port(&known["port"]) == Some(port));
    let Some(found) = named.next() else {
        return Err(format!(
            "no service port {port} found for service {}",
            quoted(name)
        ));
    };
    let port_name = found["name"].as_str().unwrap_or_default();
    slice_endpoint(store, namespace, name, port_name)
        .or_else(|| subset_endpoint(store, &key, port_name))
        .ok_or_else(|| format!("no endpoints available for service {}", quoted(name)))
}

/// Returns the first ready endpoint of a Service's EndpointSlices.
fn slice_endpoint(store: &Store, namespace: &str, service: &str, port_name: &str) -> Option<(String, u16)> {
    let slices = store.objects("endpointslices.discovery.k8s.io", namespace);
    let mut slices = slices.iter().map(|slice| slice.value());
    slices.find_map(|slice| {
        if slice["metadata"]["labels"]["kubernetes.io/service-name"] != service {
            return None;
        }
        let is_ready = |endpoint: &&Value| endpoint["conditions"]["ready"] != false;
        let endpoint = slice["endpoints"].as_array()?.iter().find(is_ready)?;
        let address = endpoint["addresses"][0].as_str()?;
        Some((address.to_owned(), named_port(&slice["ports"], port_name)?))
    })
}

/// Returns the first address of a Service's Endpoints.
fn subset_endpoint(store: &Store, key: &str, port_name: &str) -> Option<(String, u16)> {
    let endpoints = store.get("endpoints", key)?;
    let mut subsets = endpoints.value()["subsets"].as_array()?.iter();
    subsets.find_map(|subset| {
        let address = subset["addresses"][0]["ip"].as_str()?;
        Some((address.to_owned(), named_port(&subset["ports"], port_name)?))
    })
}

fn named_port(ports: &Value, name: &str) -> Option<u16> {
    let mut ports = ports.as_array()?.iter();
    let found = ports.find(|port| port["name"].as_str().unwrap_or_default() == name)?;
    port(&found["port"])
}

fn port(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|port| u16::try_from(port).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn urls_are_split_into_host_and_port() {
        for (url, host, port) in [
            ("https://a.dev/x/y", "a.dev", 443),
            ("https://a.dev:8443", "a.dev", 8443),
            ("https://[::1]:9443/x", "::1", 9443),
            ("https://[::1]/x", "::1", 443),
        ] {
            assert_eq!(host_and_port(url), (host.to_owned(), port), "{url}");
        }
    }

    #[test]
    fn paths_are_cleaned_as_by_kube_apiserver() {
        for (path, sent) in [
            ("", "/"),
            ("x", "/x"),
            ("//double", "/double"),
            ("/trailing/", "/trailing"),
            ("/a/../b", "/b"),
            ("/../root", "/root"),
            ("/./dot/.", "/dot"),
            ("/in//side", "/in/side"),
            ("/quote'!()*", "/quote%27%21%28%29%2A"),
        ] {
            assert_eq!(sent_path(path), sent);
        }
        // Only in URLs, paths are escaped.
        assert_eq!(sent_url("https://h:1//%70/a%2Fb%20c"), "https://h:1/p/a/b%20c");
        assert_eq!(sent_url("https://h"), "https://h/");
        assert_eq!(sent_path("/%70"), "/%2570");
    }

    fn service(port: u16) -> ClientConfig {
        ClientConfig::parse(
            &json!({ "service": { "namespace": "n", "name": "s", "path": "/x", "port": port } }),
        )
    }

    #[test]
    fn services_are_resolved_to_a_ready_endpoint() {
        let store = Store::default();
        let resolve = |port: u16| service(port).resolve(&store).address;
        assert_eq!(resolve(443), Err(r#"service "s" not found"#.to_owned()));
        let spec = json!({ "type": "ClusterIP", "ports": [{ "name": "https", "port": 443 }] });
        store
            .create("services", "n/s", json!({ "metadata": {}, "spec": spec }))
            .unwrap();
        assert_eq!(
            resolve(80),
            Err(r#"no service port 80 found for service "s""#.to_owned())
        );
        let none = r#"no endpoints available for service "s""#;
        assert_eq!(resolve(443), Err(none.to_owned()));
        let endpoints = json!({ "metadata": {}, "subsets": [{ "addresses": [{ "ip": "10.1.0.1" }], "ports": [{ "name": "https", "port": 9443 }] }] });
        store.create("endpoints", "n/s", endpoints).unwrap();
        assert_eq!(resolve(443), Ok(("10.1.0.1".to_owned(), 9443)));
        let slice = json!({
            "metadata": { "labels": { "kubernetes.io/service-name": "s" } }, "ports": [{ "name": "https", "port": 9444 }],
            "endpoints": [{ "addresses": ["10.1.0.2"], "conditions": { "ready": false } }, { "addresses": ["10.1.0.3"] }],
        });
        store
            .create("endpointslices.discovery.k8s.io", "n/a", slice)
            .unwrap();
        assert_eq!(resolve(443), Ok(("10.1.0.3".to_owned(), 9444)));
        let endpoint = service(443).resolve(&store);
        assert_eq!(
            (endpoint.url.as_str(), endpoint.server_name.as_str()),
            ("https://s.n.svc:443/x", "s.n.svc")
        );
    }

    #[test]
    fn external_names_are_connected_to_directly() {
        let store = Store::default();
        let spec = json!({ "type": "ExternalName", "externalName": "localhost" });
        store
            .create("services", "n/s", json!({ "metadata": {}, "spec": spec }))
            .unwrap();
        assert_eq!(
            service(8443).resolve(&store).address,
            Ok(("localhost".to_owned(), 8443))
        );
    }
}

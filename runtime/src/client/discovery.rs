//! Discovers a kind that is known only at runtime.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;

use super::Connection;
use crate::{ApiResource, Scope};

/// A resource could not be discovered.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// The API server does not serve the resource.
    #[error("the API server does not serve {resource} in {api_version}: check `kubectl api-resources`")]
    Unknown {
        /// `group/version`, or `version` in the core group.
        api_version: String,
        /// The requested resource.
        resource: String,
    },
    /// The discovery request failed.
    #[error("the resources of {api_version} could not be discovered")]
    Request {
        /// `group/version`, or `version` in the core group.
        api_version: String,
        /// The cause.
        #[source]
        cause: kube::Error,
    },
}

impl ApiResource {
    /// Discovers the kind and the scope of a `resource` (`deployments`) of a group (empty: core) and version.
    ///
    /// It sends one request, which every authenticated user may send.
    pub async fn discover(
        connection: &Connection,
        group: &str,
        version: &str,
        resource: &str,
    ) -> Result<Self, DiscoveryError> {
        let resources = api_resources(connection, group, version).await?;
        let mut resources = resources.into_iter().flatten();
        let known = resources.find(|known| known.name == resource);
        let known = known.ok_or_else(|| DiscoveryError::Unknown {
            api_version: api_version(group, version),
            resource: resource.to_owned(),
        })?;
        Ok(Self {
            group: group.to_owned().into(),
            version: version.to_owned().into(),
            kind: known.kind.into(),
            plural: known.name.into(),
            scope: if known.namespaced {
                Scope::Namespaced
            } else {
                Scope::Cluster
            },
        })
    }
}

/// Returns the resources of a group's version; none if the API server does not serve it.
pub(super) async fn api_resources(
    connection: &Connection,
    group: &str,
    version: &str,
) -> Result<Option<Vec<APIResource>>, DiscoveryError> {
    let (client, api_version) = (connection.kube_client(), api_version(group, version));
    let resources = match group {
        "" => client.list_core_api_resources(version).await,
        _ => client.list_api_group_resources(&api_version).await,
    };
    match resources {
        Ok(list) => Ok(Some(list.resources)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(cause) => Err(DiscoveryError::Request { api_version, cause }),
    }
}

fn api_version(group: &str, version: &str) -> String {
    format!("{group}/{version}").trim_start_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use kube::client::Body;

    use super::*;
    use crate::Kind as _;

    /// An API server with the groups `/apis/apps/v1` and `/api/v1`.
    fn connection() -> Connection {
        let service = tower::service_fn(|request: Request<Body>| async move {
            let (code, body) = match request.uri().path() {
                "/apis/apps/v1" => (
                    200,
                    r#"{"kind":"APIResourceList","groupVersion":"apps/v1","resources":[
                    {"name":"deployments/status","singularName":"","namespaced":true,"kind":"Deployment","verbs":["get"]},
                    {"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment","verbs":["list","watch"]}]}"#,
                ),
                "/api/v1" => (
                    200,
                    r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[
                    {"name":"nodes","singularName":"node","namespaced":false,"kind":"Node","verbs":["list","watch"]}]}"#,
                ),
                "/apis/broken/v1" => (500, "{}"),
                _ => (
                    404,
                    r#"{"kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"not found"}"#,
                ),
            };
            Ok::<_, Infallible>(
                Response::builder()
                    .status(code)
                    .body(Body::from(body.as_bytes().to_vec()))
                    .unwrap(),
            )
        });
        Connection::new(kube::Client::new(service, "default"))
    }

    #[tokio::test]
    async fn discovery_returns_kind_and_scope() {
        let connection = connection();
        let discovered = ApiResource::discover(&connection, "apps", "v1", "deployments")
            .await
            .unwrap();
        assert_eq!(discovered, k8s_openapi::api::apps::v1::Deployment::info());
        let discovered = ApiResource::discover(&connection, "", "v1", "nodes")
            .await
            .unwrap();
        assert_eq!(discovered, k8s_openapi::api::core::v1::Node::info());
    }

    #[tokio::test]
    async fn unknown_resource_and_failing_server_are_different_errors() {
        let connection = connection();
        for (group, resource) in [("apps", "deployment"), ("", "pods"), ("demo.dev", "foos")] {
            let error = ApiResource::discover(&connection, group, "v1", resource)
                .await
                .unwrap_err();
            assert!(matches!(&error, DiscoveryError::Unknown { .. }), "{error}");
            assert!(error.to_string().contains(resource), "{error}");
        }
        let error = ApiResource::discover(&connection, "broken", "v1", "foos")
            .await
            .unwrap_err();
        assert!(matches!(error, DiscoveryError::Request { .. }), "{error}");
    }
}

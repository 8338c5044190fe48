//! Request matchers.

use kubewright_apiserver::http::LayerRequest;

/// Selects requests. All conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestMatcher {
    user: Option<String>,
    verb: Option<String>,
    group: Option<String>,
    resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

impl RequestMatcher {
    /// Matches every request.
    pub fn any() -> Self {
        Self::default()
    }

    /// Matches requests with an RBAC verb: `get`, `list`, `watch`, `create`, `update`, `patch` (also server-side apply), `delete`.
    pub fn verb(verb: &str) -> Self {
        Self::any().with_verb(verb)
    }

    /// Matches watches of a resource.
    pub fn watch(resource: &str) -> Self {
        Self::verb("watch").resource(resource)
    }

    /// Requires the verb.
    pub fn with_verb(mut self, verb: &str) -> Self {
        self.verb = Some(verb.to_owned());
        self
    }

    /// Requires the plural resource, with its subresource: `foos` or `foos/status`, in any group.
    pub fn resource(mut self, resource: &str) -> Self {
        self.resource = Some(resource.to_owned());
        self
    }

    /// Requires the API group; empty for the core group. `events` is a resource of two groups.
    pub fn group(mut self, group: &str) -> Self {
        self.group = Some(group.to_owned());
        self
    }

    /// Requires the user; a service account is `system:serviceaccount:<namespace>:<name>`. For impersonated requests, it is the
    /// impersonated user.
    ///
    /// The embedded server authenticates the user. The proxy in front of a real server reads it from the request: it recognizes service
    /// accounts by any of their tokens, and impersonated users even if impersonation is forbidden; all other requests are by
    /// `system:anonymous`.
    pub fn user(mut self, user: &str) -> Self {
        self.user = Some(user.to_owned());
        self
    }

    /// Requires the namespace.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Requires the object's name. Create and list requests have none; server-side apply does.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    pub(super) fn matches(&self, request: &LayerRequest) -> bool {
        let info = &request.info;
        let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| wanted == value);
        let is_resource = self.resource.as_ref().is_none_or(|wanted| {
            let (resource, subresource) = wanted.split_once('/').unwrap_or((wanted, ""));
            resource == info.resource && subresource == info.subresource
        });
        is_resource
            && is(&self.user, &request.user)
            && is(&self.verb, &info.verb)
            && is(&self.group, &info.group)
            && is(&self.namespace, &info.namespace)
            && is(&self.name, &info.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubewright_apiserver::http::{Query, RequestInfo};

    fn request(method: &str, uri: &str) -> LayerRequest {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let query = Query::parse(query);
        LayerRequest {
            user: "op".to_owned(),
            info: RequestInfo::new(&method.parse().unwrap(), path, &query),
            query,
        }
    }

    #[test]
    fn all_conditions_must_hold() {
        let update = request("PUT", "/apis/demo.dev/v1/namespaces/shop/foos/a/status");
        let all_conditions = RequestMatcher::verb("update")
            .resource("foos/status")
            .group("demo.dev")
            .user("op")
            .namespace("shop")
            .name("a");
        assert!(all_conditions.matches(&update) && RequestMatcher::any().matches(&update));
        for other in [
            all_conditions.clone().with_verb("patch"),
            all_conditions.clone().resource("foos"),
            all_conditions.clone().group(""),
            all_conditions.clone().user("other"),
            all_conditions.clone().namespace("other"),
            all_conditions.clone().name("b"),
        ] {
            assert!(!other.matches(&update), "{other:?}");
        }
        let watch = request("GET", "/api/v1/pods?watch=true");
        assert!(
            RequestMatcher::watch("pods").matches(&watch) && !RequestMatcher::watch("nodes").matches(&watch)
        );
    }
}

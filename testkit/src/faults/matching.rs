//! Which requests are meant.

use kubewright_apiserver::http::LayerRequest;

/// Which requests are meant: those that have all that is said here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    user: Option<String>,
    verb: Option<String>,
    group: Option<String>,
    resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

impl Matching {
    /// Every request.
    pub fn any() -> Self {
        Self::default()
    }

    /// Those with that verb in RBAC's words: `get`, `list`, `watch`, `create`, `update`, `patch` (also server-side apply), `delete`.
    pub fn verb(verb: &str) -> Self {
        Self::any().with_verb(verb)
    }

    /// Watches of a resource.
    pub fn watch(resource: &str) -> Self {
        Self::verb("watch").on(resource)
    }

    /// With that verb.
    pub fn with_verb(mut self, verb: &str) -> Self {
        self.verb = Some(verb.to_owned());
        self
    }

    /// On that resource, in the plural: `foos`, or `foos/status`, whatever the group.
    pub fn on(mut self, resource: &str) -> Self {
        self.resource = Some(resource.to_owned());
        self
    }

    /// Of that API group; the core group's name is empty. Some resources are in two: `events`.
    pub fn of(mut self, group: &str) -> Self {
        self.group = Some(group.to_owned());
        self
    }

    /// By that user; a service account is `system:serviceaccount:<namespace>:<name>`. One who is impersonated counts, and not who does that.
    ///
    /// The embedded server knows everybody. The proxy before a real one believes the request: it knows service accounts, by any of their
    /// tokens, and who is impersonated, even where that is refused; whoever else asks is `system:anonymous` to it.
    pub fn by(mut self, user: &str) -> Self {
        self.user = Some(user.to_owned());
        self
    }

    /// In that namespace.
    pub fn within(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// For the object of that name. What creates or lists names none; server-side apply does.
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    pub(super) fn matches(&self, asked: &LayerRequest) -> bool {
        let info = &asked.info;
        let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| wanted == value);
        let is_resource = self.resource.as_ref().is_none_or(|wanted| {
            let (resource, subresource) = wanted.split_once('/').unwrap_or((wanted, ""));
            resource == info.resource && subresource == info.subresource
        });
        is_resource
            && is(&self.user, &asked.user)
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

    fn asked(method: &str, uri: &str) -> LayerRequest {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let query = Query::parse(query);
        LayerRequest {
            user: "op".to_owned(),
            info: RequestInfo::new(&method.parse().unwrap(), path, &query),
            query,
        }
    }

    #[test]
    fn all_that_is_said_must_hold() {
        let update = asked("PUT", "/apis/demo.dev/v1/namespaces/shop/foos/a/status");
        let whole = Matching::verb("update")
            .on("foos/status")
            .of("demo.dev")
            .by("op")
            .within("shop")
            .named("a");
        assert!(whole.matches(&update) && Matching::any().matches(&update));
        for other in [
            whole.clone().with_verb("patch"),
            whole.clone().on("foos"),
            whole.clone().of(""),
            whole.clone().by("other"),
            whole.clone().within("other"),
            whole.clone().named("b"),
        ] {
            assert!(!other.matches(&update), "{other:?}");
        }
        let watch = asked("GET", "/api/v1/pods?watch=true");
        assert!(Matching::watch("pods").matches(&watch) && !Matching::watch("nodes").matches(&watch));
    }
}

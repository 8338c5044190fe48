//! Which resources the API server serves, by its aggregated discovery documents.

use std::borrow::Cow;

use kube::core::discovery::v2::{APIGroupDiscovery, APIGroupDiscoveryList, APIResourceDiscovery};
use kubewright::{ApiResource, Scope};

/// What the API server serves.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Discovered {
    /// Every resource in every served version; the preferred version of a resource precedes its others.
    pub(crate) resources: Vec<ServedResource>,
    /// The group versions (`metrics.k8s.io/v1beta1`) whose server could not be asked, so that their resources may be missing or old.
    pub(crate) stale: Vec<String>,
}

/// A resource in one version.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServedResource {
    pub(crate) kind: ApiResource,
    /// The verbs of the whole object, such as `deletecollection`.
    pub(crate) verbs: Vec<String>,
    /// Whether this is the version that the API server prefers among those that have the resource.
    pub(crate) is_preferred: bool,
}

/// Asks the API server, in two requests.
pub(crate) async fn discover(client: &kube::Client) -> Result<Discovered, kube::Error> {
    let core = client.list_core_api_versions_aggregated().await?;
    let groups = client.list_api_groups_aggregated().await?;
    Ok(Discovered::from_documents(&core, &groups))
}

impl Discovered {
    fn from_documents(core: &APIGroupDiscoveryList, groups: &APIGroupDiscoveryList) -> Self {
        let mut discovered = Self::default();
        for group in core.items.iter().chain(&groups.items) {
            discovered.add(group);
        }
        discovered
    }

    /// Returns each resource once, in its preferred version, if it has all these verbs.
    pub(crate) fn preferred(&self, verbs: &[&str]) -> impl Iterator<Item = &ServedResource> {
        let preferred = self.resources.iter().filter(|resource| resource.is_preferred);
        preferred.filter(move |resource| verbs.iter().all(|verb| resource.has(verb)))
    }

    fn add(&mut self, group: &APIGroupDiscovery) {
        let name = group
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.name.as_deref());
        let name = name.unwrap_or_default();
        let first = self.resources.len();
        // Versions stand in the order of preference.
        for version in &group.versions {
            let text = version.version.as_deref().unwrap_or_default();
            if version.freshness.as_deref() == Some("Stale") {
                self.stale
                    .push(format!("{name}/{text}").trim_start_matches('/').to_owned());
            }
            for resource in &version.resources {
                let Some(kind) = kind_of(resource, name, text) else {
                    continue;
                };
                let mut of_group = self.resources[first..].iter();
                let is_preferred = of_group.all(|other| other.kind.plural != kind.plural);
                self.resources.push(ServedResource {
                    kind,
                    verbs: resource.verbs.clone(),
                    is_preferred,
                });
            }
        }
    }
}

impl ServedResource {
    pub(crate) fn has(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }
}

/// Returns the kind of a resource; none if the document is incomplete.
fn kind_of(resource: &APIResourceDiscovery, group: &str, version: &str) -> Option<ApiResource> {
    let served_kind = resource.response_kind.as_ref()?;
    Some(ApiResource {
        group: group.to_owned().into(),
        version: version.to_owned().into(),
        kind: Cow::Owned(served_kind.kind.clone().filter(|kind| !kind.is_empty())?),
        plural: Cow::Owned(resource.resource.clone()?),
        scope: match resource.scope.as_deref()? {
            "Namespaced" => Scope::Namespaced,
            _ => Scope::Cluster,
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn resource(plural: &str, kind: &str, verbs: &[&str]) -> Value {
        json!({"resource": plural, "responseKind": {"group": "", "version": "", "kind": kind}, "scope": "Namespaced", "verbs": verbs})
    }

    fn documents(groups: &Value) -> Discovered {
        let core = json!({"items": [{"metadata": {}, "versions": [
            {"version": "v1", "freshness": "Current", "resources": [
                resource("pods", "Pod", &["delete", "list", "watch"]),
                {"resource": "bindings", "scope": "Namespaced", "verbs": ["create"], "responseKind": {"kind": "Binding"}},
                {"resource": "nameless", "scope": "Namespaced", "verbs": ["delete"]}]}]}]});
        let parse = |value: &Value| serde_json::from_value(value.clone()).unwrap();
        Discovered::from_documents(&parse(&core), &parse(groups))
    }

    #[test]
    fn a_resource_is_preferred_in_its_first_version() {
        let verbs = ["delete"];
        let discovered = documents(
            &json!({"items": [{"metadata": {"name": "autoscaling"}, "versions": [
            {"version": "v2", "resources": [resource("hpas", "HPA", &verbs)]},
            {"version": "v1", "resources": [resource("hpas", "HPA", &verbs), resource("old", "Old", &verbs)]}]}]}),
        );
        let preferred: Vec<_> = discovered.preferred(&["delete"]).collect();
        let named: Vec<_> = preferred
            .iter()
            .map(|resource| format!("{} {}", resource.kind.api_version(), resource.kind.plural))
            .collect();
        assert_eq!(named, ["v1 pods", "autoscaling/v2 hpas", "autoscaling/v1 old"]);
        assert_eq!(discovered.resources.len(), 5);
        assert_eq!(discovered.preferred(&["delete", "watch"]).count(), 1);
    }

    #[test]
    fn stale_group_versions_are_named() {
        let discovered = documents(
            &json!({"items": [{"metadata": {"name": "metrics.k8s.io"}, "versions": [
            {"version": "v1beta1", "freshness": "Stale", "resources": []}]}]}),
        );
        assert_eq!(discovered.stale, ["metrics.k8s.io/v1beta1"]);
    }
}

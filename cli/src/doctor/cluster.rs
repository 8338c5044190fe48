//! The cluster: whether its CRDs are those of the code, and whether the operator's account has the permissions that the code needs.
//!
//! Permissions are checked by a SubjectAccessReview about the account, which needs no right to impersonate it.

use std::collections::BTreeSet;

use k8s_openapi::api::{
    authorization::v1::{
        NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
    },
    core::v1::ServiceAccount,
};
use kube::{
    Api, Client, Resource as _,
    api::{DynamicObject, PostParams},
    core::ApiResource,
};
use serde_json::Value;

use super::{
    Report,
    drift::{differences, stored},
};
use crate::{
    Error, dev,
    error::ClusterError,
    generation,
    manifests::{KindManifest, Manifests, Permission, PermissionScope, crds},
    project::Project,
};

/// The fix of what is missing in a cluster.
const APPLY: &str = "run `kubectl apply --server-side -k manifests`";
/// Changes of a CRD that are listed.
const MAX_CHANGES: usize = 3;

/// Checks the cluster of a kubeconfig context.
pub fn check(
    report: &mut Report<'_, '_>,
    project: &Project,
    manifests: &Manifests,
    context: &str,
) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| crate::plan::IoError::new("start", "a runtime", source))?;
    let manifests = generation::with_settings(manifests, &project.settings);
    let checked = runtime.block_on(async {
        let client = dev::client_of_context(context).await?;
        let cluster = ClusterCheck {
            client,
            project,
            manifests: &manifests,
            context,
        };
        cluster.check_definitions(report).await?;
        cluster.check_permissions(report).await
    });
    match checked {
        Err(Error::Cluster(error)) => report.problem("cluster", error),
        checked => checked,
    }
}

struct ClusterCheck<'a> {
    client: Client,
    project: &'a Project,
    manifests: &'a Manifests,
    /// The kubeconfig context of the cluster.
    context: &'a str,
}

impl ClusterCheck<'_> {
    async fn check_definitions(&self, report: &mut Report<'_, '_>) -> Result<(), Error> {
        let resource = ApiResource {
            group: "apiextensions.k8s.io".to_owned(),
            version: "v1".to_owned(),
            api_version: "apiextensions.k8s.io/v1".to_owned(),
            kind: "CustomResourceDefinition".to_owned(),
            plural: "customresourcedefinitions".to_owned(),
        };
        let definitions: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let read = async |name: &str| {
            let found = definitions.get_opt(name).await;
            found.map_err(|error| ClusterError::request(format!("read the CRD {name}"), error))
        };
        for kind in self.manifests.kinds.iter().filter(|kind| kind.external) {
            let name = format!("{}.{}", kind.plural, kind.group);
            match read(&name).await? {
                Some(_) => report.ok("crds", &name)?,
                None => report.problem(
                    "crds",
                    format!("{name} is not installed: install the project that defines it"),
                )?,
            }
        }
        for (kind, code) in self.manifests.defined_crds() {
            let name = code["metadata"]["name"].as_str().unwrap_or_default();
            let Some(found) = read(name).await? else {
                report.problem("crds", format!("{name} is not installed: {APPLY}"))?;
                continue;
            };
            let mut found = found.data;
            let code = self.project.settings.descriptions.apply(code);
            let storage = Storage {
                name,
                cluster: &found,
                code: &code,
                kind,
                context: self.context,
            };
            if let Some(problem) = storage.removed_version().or_else(|| storage.next_step()) {
                report.problem("crds", problem)?;
                continue;
            }
            let other_versions = storage.other_versions();
            crds::clean(&mut found);
            let changes = differences(&found, &code, kind.conversion.as_ref());
            if changes.is_empty() {
                match other_versions {
                    Some(warning) => report.warning("crds", warning)?,
                    None => report.ok("crds", name)?,
                }
                continue;
            }
            let more = match changes.len().saturating_sub(MAX_CHANGES) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let shown = changes
                .iter()
                .take(MAX_CHANGES)
                .cloned()
                .collect::<Vec<_>>()
                .join(", ");
            report.problem(
                "crds",
                format!("{name} in the cluster is not that of the code: {shown}{more}: {APPLY}"),
            )?;
        }
        Ok(())
    }

    async fn check_permissions(&self, report: &mut Report<'_, '_>) -> Result<(), Error> {
        let (namespace, name) = (&self.project.settings.namespace, &self.manifests.operator);
        let account = format!("{namespace}/{name}");
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        let found = accounts.get_opt(name).await;
        let found = found
            .map_err(|error| ClusterError::request(format!("read the ServiceAccount {account}"), error))?;
        if found.is_none() {
            return report.problem(
                "permissions",
                format!("the cluster has no ServiceAccount {account}: {APPLY}"),
            );
        }
        let mut lines = BTreeSet::new();
        for permission in &self.manifests.permissions {
            lines.extend(self.missing(permission).await?);
        }
        for line in &lines {
            report.problem("permissions", format!("{account} may not {line}: {APPLY}"))?;
        }
        if lines.is_empty() {
            report.ok("permissions", account)?;
        }
        Ok(())
    }

    /// Returns what the account may not do of a permission unit: a line for each resource and namespace.
    async fn missing(&self, permission: &Permission) -> Result<Vec<String>, Error> {
        let settings = &self.project.settings;
        let namespaces = match permission.scope {
            PermissionScope::Watched if !settings.watched().is_empty() => settings.watched().to_vec(),
            PermissionScope::Operator => vec![settings.namespace.clone()],
            PermissionScope::DefaultNamespace => vec!["default".to_owned()],
            PermissionScope::Watched | PermissionScope::Cluster => vec![String::new()],
        };
        let names = match permission.resource_names.as_slice() {
            [] => &[String::new()],
            names => names,
        };
        let mut targets: Vec<(String, Target)> = Vec::new();
        for namespace in &namespaces {
            for (group, resource) in permission.api_groups.iter().flat_map(|group| {
                let resources = permission.resources.iter();
                resources.map(move |resource| (group, resource))
            }) {
                for name in names {
                    let target = ResourceAttributes {
                        namespace: Some(namespace.clone()),
                        group: Some(group.clone()),
                        resource: resource.split('/').next().map(str::to_owned),
                        subresource: resource
                            .split_once('/')
                            .map(|(_, subresource)| subresource.to_owned()),
                        name: Some(name.clone()).filter(|name| !name.is_empty()),
                        ..ResourceAttributes::default()
                    };
                    targets.push((
                        description(resource, group, name, namespace),
                        Target::Resource(Box::new(target)),
                    ));
                }
            }
        }
        let urls = permission.non_resource_urls.iter();
        targets.extend(urls.map(|url| (url.clone(), Target::Url(url.clone()))));
        let mut lines = Vec::new();
        for (description, target) in targets {
            let mut denied = Vec::new();
            for verb in &permission.verbs {
                if !self.is_allowed(verb, &target).await? {
                    denied.push(verb.as_str());
                }
            }
            if !denied.is_empty() {
                let why = if permission.why.is_empty() {
                    String::new()
                } else {
                    format!(" ({})", permission.why)
                };
                lines.push(format!("{} {description}{why}", denied.join(", ")));
            }
        }
        Ok(lines)
    }

    async fn is_allowed(&self, verb: &str, target: &Target) -> Result<bool, ClusterError> {
        let namespace = &self.project.settings.namespace;
        let groups = ["system:serviceaccounts", "system:authenticated"].map(str::to_owned);
        let own_group = format!("system:serviceaccounts:{namespace}");
        let mut spec = SubjectAccessReviewSpec {
            user: Some(format!(
                "system:serviceaccount:{namespace}:{}",
                self.manifests.operator
            )),
            groups: Some(groups.into_iter().chain([own_group]).collect()),
            ..SubjectAccessReviewSpec::default()
        };
        let verb = Some(verb.to_owned());
        match target {
            Target::Resource(attributes) => {
                spec.resource_attributes = Some(ResourceAttributes {
                    verb,
                    ..(**attributes).clone()
                });
            }
            Target::Url(path) => {
                let path = Some(path.clone());
                spec.non_resource_attributes = Some(NonResourceAttributes { path, verb });
            }
        }
        let review = SubjectAccessReview {
            spec,
            ..SubjectAccessReview::default()
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let kind = SubjectAccessReview::kind(&());
        let answer = reviews.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| ClusterError::request(format!("create a {kind}"), error))?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }
}

/// What a permission is for.
enum Target {
    Resource(Box<ResourceAttributes>),
    Url(String),
}

/// Returns a resource in words, as in `foos.demo.dev/status in namespace a`.
fn description(resource: &str, group: &str, name: &str, namespace: &str) -> String {
    let (plural, subresource) = match resource.split_once('/') {
        Some((plural, subresource)) => (plural, format!("/{subresource}")),
        None => (resource, String::new()),
    };
    let group = if group.is_empty() {
        String::new()
    } else {
        format!(".{group}")
    };
    let name = if name.is_empty() {
        String::new()
    } else {
        format!(" {name}")
    };
    let place = if namespace.is_empty() {
        "in the whole cluster".to_owned()
    } else {
        format!("in namespace {namespace}")
    };
    format!("{plural}{group}{subresource}{name} {place}")
}

/// A definition in the cluster and in the code, for what concerns the versions in which objects are stored.
struct Storage<'a> {
    /// The name of the definition.
    name: &'a str,
    /// The definition in the cluster, with its status.
    cluster: &'a Value,
    code: &'a Value,
    kind: &'a KindManifest,
    /// The kubeconfig context of the cluster.
    context: &'a str,
}

impl Storage<'_> {
    /// Returns the problem if objects may be stored in versions that the code does not have.
    fn removed_version(&self) -> Option<String> {
        let removed = self.stored_versions(|version| {
            let mut versions = self.code["spec"]["versions"].as_array().into_iter().flatten();
            !versions.any(|found| found["name"] == *version)
        })?;
        // A migration writes the objects in the version that the code stores.
        let wanted = stored(self.code);
        let mut versions = self.cluster["spec"]["versions"].as_array().into_iter().flatten();
        let is_served = versions.any(|found| found["name"] == *wanted && found["served"] == true);
        let fix = if is_served {
            format!("run `{}`", self.migrate())
        } else {
            format!(
                "add {removed} to the code again, release that, run `{}`, and then remove it: the cluster does not serve {wanted} yet",
                self.migrate()
            )
        };
        Some(format!(
            "{} may have objects that are stored in {removed} (status.storedVersions), which the code does not have: {fix}; the API server \
             refuses the manifests until then",
            self.name
        ))
    }

    /// Returns the next step of a storage migration, if the cluster and the code store different versions of a kind that has a hub.
    fn next_step(&self) -> Option<String> {
        let hub = &self.kind.conversion.as_ref()?.hub;
        let (was, is) = (stored(self.cluster), stored(self.code));
        if was == is {
            return None;
        }
        let step = if was == hub {
            format!(
                "run `kubewright migrate storage {}` when each cluster is migrated; these manifests would undo the migration",
                self.kind.kind
            )
        } else {
            format!("run `{}` before you apply the manifests", self.migrate())
        };
        Some(format!(
            "{} is stored in {was} in the cluster, and in {is} in the code: {step}",
            self.name
        ))
    }

    /// Returns the warning if objects may be stored in other versions than the code's, for a cluster that stores the code's.
    fn other_versions(&self) -> Option<String> {
        let others = self.stored_versions(|version| version != stored(self.code))?;
        Some(format!(
            "{} may have objects that are stored in {others} (status.storedVersions), and the code stores {}: run `{}` before you remove a \
             version",
            self.name,
            stored(self.code),
            self.migrate()
        ))
    }

    /// Lists the versions in which the cluster may have stored objects, of those that the filter accepts; none if there are none.
    fn stored_versions(&self, is_accepted: impl Fn(&str) -> bool) -> Option<String> {
        let versions = self.cluster["status"]["storedVersions"]
            .as_array()
            .into_iter()
            .flatten();
        let versions = versions
            .filter_map(Value::as_str)
            .filter(|version| is_accepted(version));
        let versions: Vec<&str> = versions.collect();
        (!versions.is_empty()).then(|| versions.join(", "))
    }

    fn migrate(&self) -> String {
        format!(
            "kubewright migrate storage {} --cluster {}",
            self.kind.kind, self.context
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn next_step_of_a_storage_migration_is_named() {
        let crd = |stored: &str| {
            let version = |name: &str| json!({"name": name, "storage": name == stored});
            json!({"spec": {"versions": [version("v1"), version("v1alpha1")]}})
        };
        let mut kind = json!({"group": "demo.dev", "kind": "Foo", "plural": "foos", "namespaced": true});
        let step = |cluster: &str, code: &str, kind: &Value| {
            let kind: KindManifest = from_value(kind.clone()).unwrap();
            let storage = Storage {
                name: "foos.demo.dev",
                cluster: &crd(cluster),
                code: &crd(code),
                kind: &kind,
                context: "staging",
            };
            storage.next_step()
        };
        assert_eq!(step("v1alpha1", "v1", &kind), None);
        kind["conversion"] = json!({"hub": "v1", "rules": {"v1alpha1": []}});
        assert_eq!(step("v1", "v1", &kind), None);
        assert_eq!(
            step("v1alpha1", "v1", &kind).unwrap(),
            "foos.demo.dev is stored in v1alpha1 in the cluster, and in v1 in the code: run `kubewright migrate storage Foo --cluster staging` \
             before you apply the manifests"
        );
        assert_eq!(
            step("v1", "v1alpha1", &kind).unwrap(),
            "foos.demo.dev is stored in v1 in the cluster, and in v1alpha1 in the code: run `kubewright migrate storage Foo` when each \
             cluster is migrated; these manifests would undo the migration"
        );
    }

    #[test]
    fn removed_version_is_migrated_to_one_that_the_cluster_serves() {
        let kind = json!({"group": "demo.dev", "kind": "Foo", "plural": "foos", "namespaced": true});
        let kind: KindManifest = from_value(kind).unwrap();
        let code = json!({"spec": {"versions": [{"name": "v1", "storage": true}]}});
        let problem = |versions: &Value, stored: &[&str]| {
            let cluster = json!({"spec": {"versions": versions}, "status": {"storedVersions": stored}});
            let storage = Storage {
                name: "foos.demo.dev",
                cluster: &cluster,
                code: &code,
                kind: &kind,
                context: "staging",
            };
            storage.removed_version()
        };
        let old = json!({"name": "v1alpha1", "served": true, "storage": true});
        let both = json!([{"name": "v1", "served": true}, old]);
        assert_eq!(problem(&both, &["v1"]), None);
        let start = "foos.demo.dev may have objects that are stored in v1alpha1 (status.storedVersions), which the code does not have: ";
        let end = "; the API server refuses the manifests until then";
        assert_eq!(
            problem(&both, &["v1alpha1", "v1"]).unwrap(),
            format!("{start}run `kubewright migrate storage Foo --cluster staging`{end}")
        );
        for versions in [json!([old]), json!([{"name": "v1", "served": false}, old])] {
            assert_eq!(
                problem(&versions, &["v1alpha1"]).unwrap(),
                format!(
                    "{start}add v1alpha1 to the code again, release that, run `kubewright migrate storage Foo --cluster staging`, and then \
                     remove it: the cluster does not serve v1 yet{end}"
                )
            );
        }
    }
}

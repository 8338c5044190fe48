//! The permissions of the operator's ServiceAccounts, from the bindings in the manifests.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Bundle, ManifestObject};
use crate::Error;

/// The rules of a ServiceAccount.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Everywhere.
    pub(super) cluster: Vec<Value>,
    /// In the operator's namespace and those that it watches.
    pub(super) namespaced: Vec<Value>,
}

/// What OLM grants.
#[derive(Debug, Default)]
pub(super) struct Permissions {
    /// The accounts of the Deployments.
    pub(super) accounts: BTreeSet<String>,
    /// The rules, by account.
    pub(super) rules: BTreeMap<String, Rules>,
    pub(super) warnings: Vec<String>,
    /// The roles and bindings that the rules come from, by kind, namespace and name.
    covered: BTreeSet<Identity>,
}

type Identity = (String, Option<String>, String);

fn identity(object: &ManifestObject) -> Identity {
    let namespace = object.namespace().map(str::to_owned);
    (object.kind().to_owned(), namespace, object.name().to_owned())
}

impl Permissions {
    /// Collects the rules of all roles that are bound to the accounts alone.
    pub(super) fn collect(bundle: &Bundle<'_>) -> Result<Self, Error> {
        let mut found = Self {
            accounts: accounts(bundle),
            ..Self::default()
        };
        let bindings = bundle
            .objects
            .iter()
            .filter(|object| object.kind().ends_with("RoleBinding"));
        let mut others = BTreeSet::new();
        for binding in bindings {
            let subjects = binding.value()["subjects"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            let is_account = |subject: &&Value| {
                let name = subject["name"].as_str().unwrap_or_default();
                subject["kind"] == "ServiceAccount"
                    && subject["namespace"] == *bundle.settings.namespace
                    && found.accounts.contains(name)
            };
            let ours: Vec<_> = subjects.iter().filter(is_account).collect();
            let Some(role) = role(bundle, binding) else {
                // A role of the cluster, as in the binding to `system:auth-delegator`.
                continue;
            };
            if ours.is_empty() || ours.len() < subjects.len() {
                others.insert(identity(role));
            }
            if ours.len() < subjects.len() {
                if !ours.is_empty() {
                    let fix =
                        "the binding has the operator's account and other subjects: write a binding for each";
                    return Err(binding.error("subjects", fix).into());
                }
                continue;
            }
            let rules = role.value()["rules"].as_array().cloned().unwrap_or_default();
            for account in ours.iter().filter_map(|subject| subject["name"].as_str()) {
                found.add(bundle, binding, account, &rules);
            }
            found.covered.extend([identity(binding), identity(role)]);
        }
        found.covered.retain(|identity| !others.contains(identity));
        Ok(found)
    }

    /// Whether the ClusterServiceVersion has the rules of the role or binding.
    pub(super) fn covers(&self, object: &ManifestObject) -> bool {
        self.covered.contains(&identity(object))
    }

    fn add(&mut self, bundle: &Bundle<'_>, binding: &ManifestObject, account: &str, rules: &[Value]) {
        let settings = bundle.settings;
        let is_target = |namespace: &str| {
            namespace == settings.namespace || settings.watched().iter().any(|watched| watched == namespace)
        };
        let granted = self.rules.entry(account.to_owned()).or_default();
        let list = match binding.namespace() {
            Some(namespace) if is_target(namespace) => &mut granted.namespaced,
            Some(namespace) => {
                let message = format!(
                    "OLM grants nothing in single namespaces such as {namespace}: the bundle grants these rules in all"
                );
                self.warnings
                    .push(binding.error("metadata.namespace", message).to_string());
                &mut granted.cluster
            }
            None => &mut granted.cluster,
        };
        let needed = rules
            .iter()
            .filter(|rule| !keeps_certificate(rule, &settings.name));
        for rule in needed {
            if !list.contains(rule) {
                list.push(rule.clone());
            }
        }
    }
}

/// Whether a rule lets the operator keep a certificate of its own, for its webhooks. OLM gives it one in a folder.
fn keeps_certificate(rule: &Value, operator: &str) -> bool {
    let resources = rule["resources"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let is_all = |known: &[&str]| {
        !resources.is_empty()
            && resources
                .iter()
                .all(|resource| known.iter().any(|known| resource == known))
    };
    let configured = [
        "customresourcedefinitions",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
    ];
    is_all(&["secrets"]) && rule["resourceNames"] == json!([format!("{operator}-webhooks")])
        || is_all(&configured) && rule["resourceNames"].is_array() && rule["verbs"] == json!(["get", "patch"])
}

/// Returns the role of a binding, if the manifests have it.
fn role<'a>(bundle: &Bundle<'a>, binding: &ManifestObject) -> Option<&'a ManifestObject> {
    let reference = &binding.value()["roleRef"];
    bundle.objects.iter().find(|object| {
        let is_named = reference["kind"] == object.kind() && reference["name"] == object.name();
        is_named && (object.kind() == "ClusterRole" || object.namespace() == binding.namespace())
    })
}

fn accounts(bundle: &Bundle<'_>) -> BTreeSet<String> {
    let deployments = bundle
        .objects
        .iter()
        .filter(|object| object.kind() == "Deployment");
    let names = deployments.map(|object| {
        let pod = &object.value()["spec"]["template"]["spec"];
        pod["serviceAccountName"].as_str().unwrap_or("default").to_owned()
    });
    names.collect()
}

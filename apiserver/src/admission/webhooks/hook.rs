//! The stored webhook configurations, compiled.

use crate::cel::Condition;
use crate::selectors::LabelSelector;
use crate::storage::{Object, Store};
use crate::webhook_client::ClientConfig;
use parking_lot::RwLock;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

const MUTATING: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
const VALIDATING: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";
/// The timeout of a webhook, in seconds; it is defaulted when a configuration is written.
const DEFAULT_TIMEOUT: u64 = 10;

/// All webhooks, in the order in which they are called: by the names of their configurations, then by their places in them.
#[derive(Debug)]
pub(crate) struct HookSet {
    pub(super) mutating: Vec<Hook>,
    pub(super) validating: Vec<Hook>,
}

/// One webhook of a configuration.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) name: String,
    /// The name of the configuration.
    pub(super) configuration: String,
    pub(super) rules: Vec<Rule>,
    /// Whether requests to other versions of a resource match, too (`matchPolicy: Equivalent`).
    pub(super) matches_equivalent: bool,
    /// None if it is malformed.
    pub(super) namespace_selector: Option<LabelSelector>,
    /// None if it is malformed.
    pub(super) object_selector: Option<LabelSelector>,
    pub(super) conditions: Vec<MatchCondition>,
    /// Whether a failed call refuses the request (`failurePolicy: Fail`).
    pub(super) fails_closed: bool,
    /// Whether a mutating webhook is called again after others changed the object (`reinvocationPolicy: IfNeeded`).
    pub(super) is_reinvoked: bool,
    /// `None` and `NoneOnDryRun` permit dry runs.
    pub(super) side_effects: String,
    pub(super) timeout: Duration,
    pub(super) review_versions: Vec<String>,
    pub(super) client: ClientConfig,
}

/// A rule of a webhook: which requests match.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) operations: Vec<String>,
    pub(super) groups: Vec<String>,
    pub(super) versions: Vec<String>,
    /// Resources, or `resource/subresource`.
    pub(super) resources: Vec<String>,
    /// `*`, `Cluster` or `Namespaced`.
    pub(super) scope: String,
}

/// A named match condition.
#[derive(Debug)]
pub(super) struct MatchCondition(pub(super) Condition);

impl HookSet {
    fn load(store: &Store) -> Self {
        let hooks = |table: &str| {
            // The store sorts by name.
            let configurations = store.objects(table, "");
            configurations.iter().flat_map(Hook::all).collect()
        };
        Self {
            mutating: hooks(MUTATING),
            validating: hooks(VALIDATING),
        }
    }

    fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }
}

impl Hook {
    fn all(configuration: &Arc<Object>) -> Vec<Self> {
        let object = configuration.value();
        let name = crate::meta::name(object);
        let hooks = object["webhooks"].as_array().into_iter().flatten();
        hooks.map(|hook| Self::parse(name, hook)).collect()
    }

    /// Reads a valid and defaulted webhook.
    pub(super) fn parse(configuration: &str, hook: &Value) -> Self {
        let rules = hook["rules"].as_array().into_iter().flatten();
        let conditions = hook["matchConditions"].as_array().into_iter().flatten();
        let timeout = hook["timeoutSeconds"].as_u64().unwrap_or(DEFAULT_TIMEOUT);
        Self {
            name: text(&hook["name"]),
            configuration: configuration.to_owned(),
            rules: rules.map(Rule::parse).collect(),
            matches_equivalent: hook["matchPolicy"] != "Exact",
            namespace_selector: LabelSelector::from_value(&hook["namespaceSelector"]),
            object_selector: LabelSelector::from_value(&hook["objectSelector"]),
            conditions: conditions
                .map(|condition| MatchCondition(Condition::compile(&text(&condition["expression"]))))
                .collect(),
            fails_closed: hook["failurePolicy"] != "Ignore",
            is_reinvoked: hook["reinvocationPolicy"] == "IfNeeded",
            side_effects: text(&hook["sideEffects"]),
            timeout: Duration::from_secs(timeout),
            review_versions: texts(&hook["admissionReviewVersions"]),
            client: ClientConfig::parse(&hook["clientConfig"]),
        }
    }
}

impl Rule {
    fn parse(rule: &Value) -> Self {
        Self {
            operations: texts(&rule["operations"]),
            groups: texts(&rule["apiGroups"]),
            versions: texts(&rule["apiVersions"]),
            resources: texts(&rule["resources"]),
            scope: rule["scope"].as_str().unwrap_or("*").to_owned(),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

/// The compiled webhooks, until a configuration changes.
#[derive(Debug, Default)]
pub(crate) struct HookCache(RwLock<Option<CachedHooks>>);

/// The webhooks at the newest changes of both tables of configurations.
#[derive(Clone, Debug)]
struct CachedHooks([u64; 2], Option<Arc<HookSet>>);

impl HookCache {
    /// Returns the webhooks of all configurations; None if there are none.
    pub(crate) fn current(&self, store: &Store) -> Option<Arc<HookSet>> {
        let changes = [MUTATING, VALIDATING].map(|table| store.newest_change(table));
        if changes == [0; 2] {
            return None;
        }
        if let Some(CachedHooks(at, hooks)) = &*self.0.read()
            && *at == changes
        {
            return hooks.clone();
        }
        let hooks = HookSet::load(store);
        let hooks = (!hooks.is_empty()).then(|| Arc::new(hooks));
        *self.0.write() = Some(CachedHooks(changes, hooks.clone()));
        hooks
    }
}

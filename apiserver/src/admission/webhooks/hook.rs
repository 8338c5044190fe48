//! The stored configurations, compiled.

use crate::admission::expressions::Expressions;
use crate::admission::match_resources::{MatchResources, texts};
use crate::admission::policies::{
    MUTATING_BINDINGS, MUTATING_POLICIES, MutatingPolicy, VALIDATING_BINDINGS, VALIDATING_POLICIES,
    ValidatingPolicy,
};
use crate::cel::Expression;
use crate::meta::text;
use crate::storage::{Object, Store};
use crate::webhook_client::ClientConfig;
use parking_lot::{Mutex, RwLock};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

const MUTATING: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
const VALIDATING: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";
/// The timeout of a webhook, in seconds; it is defaulted when a configuration is written.
const DEFAULT_TIMEOUT: u64 = 10;

/// What admission calls and evaluates, in order: by the names of the configurations, then by the places in them.
#[derive(Debug)]
pub(crate) struct HookSet {
    pub(super) mutating: Vec<Hook>,
    pub(super) validating: Vec<Hook>,
    pub(in crate::admission) mutating_policies: Vec<MutatingPolicy>,
    pub(in crate::admission) validating_policies: Vec<ValidatingPolicy>,
}

/// One webhook of a configuration.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) name: String,
    /// The name of the configuration.
    pub(super) configuration: String,
    pub(super) matches: MatchResources,
    pub(super) conditions: Vec<Expression>,
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

impl HookSet {
    fn load(store: &Store, expressions: &mut Expressions) -> Self {
        let mut hooks = |table: &str| {
            // The store sorts by name.
            let configurations = store.objects(table, "");
            let hooks = configurations
                .iter()
                .flat_map(|each| Hook::all(each, expressions));
            hooks.collect()
        };
        Self {
            mutating: hooks(MUTATING),
            validating: hooks(VALIDATING),
            mutating_policies: MutatingPolicy::load_all(store, expressions),
            validating_policies: ValidatingPolicy::load_all(store, expressions),
        }
    }

    fn is_empty(&self) -> bool {
        self.mutating.is_empty()
            && self.validating.is_empty()
            && self.mutating_policies.is_empty()
            && self.validating_policies.is_empty()
    }
}

impl Hook {
    fn all(configuration: &Arc<Object>, expressions: &mut Expressions) -> Vec<Self> {
        let object = configuration.value();
        let name = crate::meta::name(object);
        let hooks = object["webhooks"].as_array().into_iter().flatten();
        hooks.map(|hook| Self::parse(name, hook, expressions)).collect()
    }

    /// Reads a valid and defaulted webhook.
    pub(super) fn parse(configuration: &str, hook: &Value, expressions: &mut Expressions) -> Self {
        let timeout = hook["timeoutSeconds"].as_u64().unwrap_or(DEFAULT_TIMEOUT);
        Self {
            name: text(hook, "name").to_owned(),
            configuration: configuration.to_owned(),
            matches: MatchResources::of_webhook(hook),
            conditions: expressions.of_items(&hook["matchConditions"]),
            fails_closed: hook["failurePolicy"] != "Ignore",
            is_reinvoked: hook["reinvocationPolicy"] == "IfNeeded",
            side_effects: text(hook, "sideEffects").to_owned(),
            timeout: Duration::from_secs(timeout),
            review_versions: texts(&hook["admissionReviewVersions"]),
            client: ClientConfig::parse(&hook["clientConfig"]),
        }
    }
}

/// The compiled webhooks and policies, until a configuration changes.
#[derive(Debug, Default)]
pub(crate) struct HookCache {
    cached: RwLock<Option<CachedHooks>>,
    expressions: Mutex<Expressions>,
}

/// The webhooks and policies at the newest changes of the tables.
#[derive(Clone, Debug)]
struct CachedHooks([u64; 6], Option<Arc<HookSet>>);

impl HookCache {
    /// Returns all webhooks and bound policies; None if there are none.
    pub(crate) fn current(&self, store: &Store) -> Option<Arc<HookSet>> {
        if let Ok(hooks) = self.cached(store) {
            return hooks;
        }
        // What one request compiles, others wait for.
        let mut expressions = self.expressions.lock();
        self.cached(store).unwrap_or_else(|changes| {
            expressions.begin();
            let hooks = HookSet::load(store, &mut expressions);
            let hooks = (!hooks.is_empty()).then(|| Arc::new(hooks));
            *self.cached.write() = Some(CachedHooks(changes, hooks.clone()));
            hooks
        })
    }

    /// Returns what is cached.
    ///
    /// # Errors
    ///
    /// Returns the newest changes of the tables, if it is older.
    fn cached(&self, store: &Store) -> Result<Option<Arc<HookSet>>, [u64; 6]> {
        let tables = [
            MUTATING,
            VALIDATING,
            MUTATING_POLICIES,
            MUTATING_BINDINGS,
            VALIDATING_POLICIES,
            VALIDATING_BINDINGS,
        ];
        let changes = tables.map(|table| store.newest_change(table));
        match &*self.cached.read() {
            _ if changes == [0; 6] => Ok(None),
            Some(CachedHooks(at, hooks)) if *at == changes => Ok(hooks.clone()),
            _ => Err(changes),
        }
    }
}

//! The informers of every resource that can be deleted and watched. They come and go with the resources.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use kube::core::DynamicObject;
use kubewright::{
    ApiResource, NamespacedName, Scope,
    cache::{
        Change, HandlerRegistration, InformerOptions, Object, SharedInformer, SharedInformerFactory,
        StorageMode,
    },
};
use parking_lot::RwLock;

use super::graph::ObjectKey;
use crate::shared::discovery::{Discovered, ServedResource};

/// Resources of events are ignored, as upstream ignores them: they have no owners, and are many.
const IGNORED: [(&str, &str); 2] = [("", "events"), ("events.k8s.io", "events")];

/// The informers, and the kinds that owner references can name.
pub(super) struct Monitors {
    factory: SharedInformerFactory,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    /// By group and plural.
    monitors: HashMap<(String, String), Monitor>,
    /// By `apiVersion` and kind: every served version.
    kinds: HashMap<(String, String), Arc<ApiResource>>,
}

struct Monitor {
    informer: SharedInformer<DynamicObject>,
    /// Whether the garbage collector made the informer, so that it ends it.
    is_own: bool,
    _registration: HandlerRegistration,
}

impl Monitors {
    pub(super) fn new(factory: SharedInformerFactory) -> Self {
        Self {
            factory,
            state: RwLock::default(),
        }
    }

    /// Follows what the API server serves: starts and ends informers. Resources of group versions that did not answer stay. `sink` makes the
    /// sink of a new informer. Returns how many began and ended.
    pub(super) fn follow<S>(
        &self,
        discovered: &Discovered,
        sink: impl Fn(Arc<ApiResource>) -> S,
    ) -> (usize, usize)
    where
        S: Fn(&Change<'_>) + Send + Sync + 'static,
    {
        let wanted: HashMap<_, _> = discovered
            .preferred(&["delete", "list", "watch"])
            .map(|resource| (place(&resource.kind), resource))
            .filter(|((group, plural), _)| !IGNORED.contains(&(group, plural)))
            .collect();
        let mut state = self.state.write();
        state.kinds.retain(|_, kind| is_stale(discovered, kind));
        for ServedResource { kind, .. } in &discovered.resources {
            let key = (kind.api_version(), kind.kind.to_string());
            state.kinds.entry(key).or_insert_with(|| Arc::new(kind.clone()));
        }
        let is_ended = |place: &(String, String), monitor: &Monitor| match wanted.get(place) {
            // Another version is preferred now.
            Some(resource) => resource.kind != *monitor.informer.info(),
            None => !is_stale(discovered, monitor.informer.info()),
        };
        let ended: Vec<_> = state
            .monitors
            .extract_if(|place, monitor| is_ended(place, monitor))
            .collect();
        for (_, monitor) in &ended {
            if monitor.is_own {
                self.factory.remove(&monitor.informer);
            }
        }
        let known: HashSet<_> = state.monitors.keys().cloned().collect();
        let mut begun = 0;
        for (place, resource) in wanted.into_iter().filter(|(place, _)| !known.contains(place)) {
            let (informer, is_own) = self.informer(&resource.kind);
            let registration = informer.add_sink(sink(Arc::new(resource.kind.clone())));
            let monitor = Monitor {
                informer,
                is_own,
                _registration: registration,
            };
            state.monitors.insert(place, monitor);
            begun += 1;
        }
        drop(state);
        self.factory.start();
        (begun, ended.len())
    }

    /// Waits until every informer has synced.
    pub(super) async fn wait_for_sync(&self) {
        let informers: Vec<_> = {
            let state = self.state.read();
            state
                .monitors
                .values()
                .map(|monitor| monitor.informer.clone())
                .collect()
        };
        for informer in informers {
            informer.wait_for_sync().await;
        }
    }

    /// Returns the kind that an owner reference names.
    pub(super) fn kind(&self, api_version: &str, kind: &str) -> Option<Arc<ApiResource>> {
        let key = (api_version.to_owned(), kind.to_owned());
        self.state.read().kinds.get(&key).cloned()
    }

    /// Returns the cached object of a kind, in any of its versions.
    pub(super) fn object(&self, kind: &ApiResource, name: &NamespacedName) -> Option<Object<DynamicObject>> {
        let state = self.state.read();
        state.monitors.get(&place(kind))?.informer.lister().object(name)
    }

    /// Returns the cached object with the key's uid.
    pub(super) fn cached(&self, key: &ObjectKey) -> Option<Object<DynamicObject>> {
        let object = self.object(&key.kind, &key.name)?;
        (object.metadata().uid() == &*key.uid).then_some(object)
    }

    /// Whether the cache of a kind has an object with this uid, whatever its name. Reads the whole cache: for what is rare.
    pub(super) fn has_uid(&self, kind: &ApiResource, uid: &str) -> bool {
        let state = self.state.read();
        let monitor = state.monitors.get(&place(kind));
        let objects = monitor.map(|monitor| monitor.informer.lister().list().objects());
        objects.is_some_and(|mut objects| objects.any(|object| object.metadata().uid() == uid))
    }

    /// Returns the informer of a kind: one of another controller, if that has all objects; what it stores of them does not matter, since
    /// metadata is read alone.
    fn informer(&self, kind: &ApiResource) -> (SharedInformer<DynamicObject>, bool) {
        let has_all = |options: &InformerOptions| {
            options.label_selector.is_none()
                && options.field_selector.is_none()
                && (kind.scope == Scope::Cluster || options.namespaces.as_ref().is_none_or(Vec::is_empty))
        };
        let existing = self.factory.informers();
        let existing = existing
            .into_iter()
            .find(|(other, options)| other == kind && has_all(options));
        let is_own = existing.is_none();
        let options = existing.map_or_else(
            || InformerOptions {
                storage: StorageMode::Metadata,
                // Most kinds have no other watcher, and their objects rarely change.
                shares_connection: true,
                ..InformerOptions::default()
            },
            |(_, options)| options,
        );
        (self.factory.dynamic(kind.clone(), options), is_own)
    }
}

fn place(kind: &ApiResource) -> (String, String) {
    (kind.group.to_string(), kind.plural.to_string())
}

fn is_stale(discovered: &Discovered, kind: &ApiResource) -> bool {
    discovered.stale.contains(&kind.api_version())
}

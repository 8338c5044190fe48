//! Watches objects and prints a line per change.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    time::Duration,
};

use futures::{StreamExt as _, TryStreamExt as _};
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams, WatchEvent, WatchParams},
    discovery::{self, ApiResource},
};
use serde_json::Value;
use tokio::task::JoinSet;

use super::{
    console::{Console, LineOrigin},
    object_diff::summarize_changes,
    object_filter::{ObjectFilter, ResourceNames},
};
use crate::{Error, error::ClusterError};

/// Delay before a broken watch is restarted.
const REWATCH_DELAY: Duration = Duration::from_secs(1);

/// Group and plural of a resource.
pub(super) type ResourceName = (String, String);

/// Watches resources, one task each. Dropping it ends the watches.
pub(super) struct ObjectWatcher {
    client: Client,
    console: Console,
    filter: ObjectFilter,
    /// Whether the names in the filter were checked.
    is_checked: bool,
    discovered: BTreeSet<ResourceName>,
    watches: JoinSet<Infallible>,
}

impl ObjectWatcher {
    pub(super) fn new(client: Client, console: Console, filter: ObjectFilter) -> Self {
        Self {
            client,
            console,
            filter,
            is_checked: false,
            discovered: BTreeSet::new(),
            watches: JoinSet::new(),
        }
    }

    /// Adds watches of those of these resources that the filter selects. Objects that exist by now are not printed.
    ///
    /// The first call that succeeds checks the names in the filter.
    pub(super) async fn watch(
        &mut self,
        resources: impl IntoIterator<Item = ResourceName>,
    ) -> Result<(), Error> {
        if matches!(self.filter, ObjectFilter::Nothing) {
            return Ok(());
        }
        let mut wanted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (group, plural) in resources {
            if !self.discovered.contains(&(group.clone(), plural.clone())) {
                wanted.entry(group).or_default().insert(plural);
            }
        }
        let mut found = Vec::new();
        for (group, plurals) in wanted {
            let served = discovery::group(&self.client, &group).await;
            let served = served.map_err(|source| discovery_error(&group, source))?;
            // Each in one version: the preferred version of the group may lack a kind.
            for (resource, _) in served.resources_by_stability() {
                if plurals.contains(&resource.plural) {
                    let names = self.names(&resource).await?;
                    found.push((resource, names));
                }
            }
        }
        let (resources, names): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        if !self.is_checked {
            self.filter.check(&names)?;
            self.is_checked = true;
        }
        for (resource, names) in resources.into_iter().zip(names) {
            self.discovered
                .insert((resource.group.clone(), resource.plural.clone()));
            if self.filter.selects(&names) {
                self.watch_resource(resource).await;
            }
        }
        Ok(())
    }

    /// Returns the names of a resource, those beside plural and kind only if the filter needs them.
    async fn names(&self, resource: &ApiResource) -> Result<ResourceNames, ClusterError> {
        let mut aliases = Vec::new();
        if matches!(self.filter, ObjectFilter::Named(_)) {
            let listed = if resource.group.is_empty() {
                self.client.list_core_api_resources(&resource.version).await
            } else {
                self.client.list_api_group_resources(&resource.api_version).await
            };
            let listed = listed.map_err(|source| discovery_error(&resource.group, source))?;
            let own = listed
                .resources
                .into_iter()
                .find(|found| found.name == resource.plural);
            if let Some(own) = own {
                aliases.push(own.singular_name);
                aliases.extend(own.short_names.unwrap_or_default());
            }
        }
        Ok(ResourceNames {
            group: resource.group.clone(),
            plural: resource.plural.clone(),
            kind: resource.kind.clone(),
            aliases,
        })
    }

    async fn watch_resource(&mut self, resource: ApiResource) {
        let mut watch = ResourceWatch {
            api: Api::all_with(self.client.clone(), &resource),
            resource,
            console: self.console.clone(),
            last_seen: BTreeMap::new(),
        };
        // List here and not in the task: changes after this call must be printed.
        let version = watch.list(false).await.ok();
        self.watches.spawn(watch.run(version));
    }
}

fn discovery_error(group: &str, source: kube::Error) -> ClusterError {
    ClusterError::request(format!("discover the resources of group {group:?}"), source)
}

struct ResourceWatch {
    api: Api<DynamicObject>,
    resource: ApiResource,
    console: Console,
    last_seen: BTreeMap<(String, String), Value>,
}

impl ResourceWatch {
    async fn run(mut self, mut version: Option<String>) -> Infallible {
        loop {
            let from = match version.take() {
                Some(version) => Ok(version),
                None => self.list(true).await,
            };
            if let Ok(from) = from {
                self.watch_from(&from).await;
            }
            tokio::time::sleep(REWATCH_DELAY).await;
        }
    }

    /// Lists the objects, and with `print` prints the differences to the last seen ones. Returns the resource version
    /// to watch from.
    async fn list(&mut self, print: bool) -> Result<String, kube::Error> {
        let list = self.api.list(&ListParams::default()).await?;
        let mut last_seen = std::mem::take(&mut self.last_seen);
        for object in list.items {
            let (key, value) = (object_key(&object), object_value(object));
            let old = last_seen.remove(&key);
            if print {
                self.print_change(&key, old.as_ref(), Some(&value)).await;
            }
            self.last_seen.insert(key, value);
        }
        for (key, old) in last_seen {
            self.print_change(&key, Some(&old), None).await;
        }
        Ok(list.metadata.resource_version.unwrap_or_default())
    }

    /// Prints changes from `version` on, until the watch ends.
    async fn watch_from(&mut self, version: &str) {
        let Ok(events) = self.api.watch(&WatchParams::default(), version).await else {
            return;
        };
        let mut events = events.boxed();
        while let Ok(Some(event)) = events.try_next().await {
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    let (key, value) = (object_key(&object), object_value(object));
                    let old = self.last_seen.insert(key.clone(), value.clone());
                    self.print_change(&key, old.as_ref(), Some(&value)).await;
                }
                WatchEvent::Deleted(object) => {
                    let key = object_key(&object);
                    let old = self.last_seen.remove(&key);
                    self.print_change(&key, old.as_ref(), None).await;
                }
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(_) => return,
            }
        }
    }

    async fn print_change(&self, key: &(String, String), old: Option<&Value>, new: Option<&Value>) {
        if let Some(line) = format_change(&self.resource.kind, key, old, new) {
            self.console.log(LineOrigin::Objects, line).await;
        }
    }
}

fn object_key(object: &DynamicObject) -> (String, String) {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    (text(&object.metadata.namespace), text(&object.metadata.name))
}

fn object_value(object: DynamicObject) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// Formats a change as a line; None if only ignored fields changed.
fn format_change(
    kind: &str,
    (namespace, name): &(String, String),
    old: Option<&Value>,
    new: Option<&Value>,
) -> Option<String> {
    if kind == "Event" {
        return new.map(format_event);
    }
    let name = if namespace.is_empty() {
        name.clone()
    } else {
        format!("{namespace}/{name}")
    };
    let description = match (old, new) {
        (None, Some(_)) => "created".to_owned(),
        (_, None) => "deleted".to_owned(),
        (Some(old), Some(new)) if kind == "Secret" => {
            // Never print the data of Secrets.
            let secret = |object: &Value| (object["data"].clone(), object["type"].clone());
            return (secret(old) != secret(new)).then(|| format!("{kind} {name}: data changed"));
        }
        (Some(old), Some(new)) => summarize_changes(old, new)?,
    };
    Some(format!("{kind} {name}: {description}"))
}

fn format_event(event: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let about = &event["regarding"];
    let times = match event["series"]["count"].as_u64() {
        Some(count) => format!(" ({count} times)"),
        None => String::new(),
    };
    format!(
        "Event {} {} {}/{}: {}{times}",
        text(&event["type"]),
        text(&event["reason"]),
        text(&about["kind"]),
        text(&about["name"]),
        text(&event["note"]),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn formats_creations_changes_and_deletions() {
        let key = ("default".to_owned(), "a".to_owned());
        let (one, two) = (json!({ "spec": 1 }), json!({ "spec": 2 }));
        assert_eq!(
            format_change("Foo", &key, None, Some(&one)).unwrap(),
            "Foo default/a: created"
        );
        assert_eq!(
            format_change("Foo", &key, Some(&one), Some(&two)).unwrap(),
            "Foo default/a: spec 1 → 2"
        );
        assert_eq!(
            format_change("Foo", &key, Some(&one), None).unwrap(),
            "Foo default/a: deleted"
        );
        assert_eq!(format_change("Foo", &key, Some(&one), Some(&one)), None);
    }

    #[test]
    fn secret_data_is_not_printed() {
        let key = ("default".to_owned(), "a".to_owned());
        let secret = |text: &str| json!({ "data": { "password": text } });
        let line = format_change(
            "Secret",
            &key,
            Some(&secret("aHVudGVy")),
            Some(&secret("c2VjcmV0")),
        )
        .unwrap();
        assert_eq!(line, "Secret default/a: data changed");
    }
}

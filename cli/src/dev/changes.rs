//! The objects' changes, as they happen: a watch a kind, a line a change.

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
    cluster::ClusterError,
    console::{Console, Speaker},
    difference::describe,
};

/// The pause before a watch that broke is taken up again.
const PAUSE: Duration = Duration::from_secs(1);

/// A resource: its group and its plural.
pub(super) type Resource = (String, String);

/// What is watched. Dropping it ends the watches.
pub(super) struct Changes {
    client: Client,
    console: Console,
    watched: BTreeSet<Resource>,
    watches: JoinSet<Infallible>,
}

impl Changes {
    pub(super) fn new(client: Client, console: Console) -> Self {
        Self {
            client,
            console,
            watched: BTreeSet::new(),
            watches: JoinSet::new(),
        }
    }

    /// Watches these, too. What there is by now is no change.
    pub(super) async fn watch(
        &mut self,
        resources: impl IntoIterator<Item = Resource>,
    ) -> Result<(), ClusterError> {
        let mut wanted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (group, plural) in resources {
            if !self.watched.contains(&(group.clone(), plural.clone())) {
                wanted.entry(group).or_default().insert(plural);
            }
        }
        for (group, plurals) in wanted {
            let served = discovery::group(&self.client, &group).await;
            let served = served.map_err(|source| {
                ClusterError::request(format!("find out what is served of {group:?}"), source)
            })?;
            for (resource, _) in served.recommended_resources() {
                if plurals.contains(&resource.plural) {
                    self.watched.insert((group.clone(), resource.plural.clone()));
                    let mut watch = Watch {
                        api: Api::all_with(self.client.clone(), &resource),
                        resource,
                        console: self.console.clone(),
                        known: BTreeMap::new(),
                    };
                    // Now, not in the task: what comes after this call is a change.
                    let version = watch.list(false).await.ok();
                    self.watches.spawn(watch.run(version));
                }
            }
        }
        Ok(())
    }
}

struct Watch {
    api: Api<DynamicObject>,
    resource: ApiResource,
    console: Console,
    known: BTreeMap<(String, String), Value>,
}

impl Watch {
    async fn run(mut self, mut version: Option<String>) -> Infallible {
        loop {
            let from = match version.take() {
                Some(version) => Ok(version),
                None => self.list(true).await,
            };
            if let Ok(from) = from {
                self.follow(&from).await;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Reads what there is, and tells what is other than it was known. From where a watch goes on.
    async fn list(&mut self, tell: bool) -> Result<String, kube::Error> {
        let list = self.api.list(&ListParams::default()).await?;
        let mut known = std::mem::take(&mut self.known);
        for object in list.items {
            let (key, value) = (key(&object), value(object));
            let old = known.remove(&key);
            if tell {
                self.tell(&key, old.as_ref(), Some(&value)).await;
            }
            self.known.insert(key, value);
        }
        for (key, old) in known {
            self.tell(&key, Some(&old), None).await;
        }
        Ok(list.metadata.resource_version.unwrap_or_default())
    }

    /// Tells what changes, until the watch ends.
    async fn follow(&mut self, version: &str) {
        let Ok(events) = self.api.watch(&WatchParams::default(), version).await else {
            return;
        };
        let mut events = events.boxed();
        while let Ok(Some(event)) = events.try_next().await {
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    let (key, value) = (key(&object), value(object));
                    let old = self.known.insert(key.clone(), value.clone());
                    self.tell(&key, old.as_ref(), Some(&value)).await;
                }
                WatchEvent::Deleted(object) => {
                    let key = key(&object);
                    let old = self.known.remove(&key);
                    self.tell(&key, old.as_ref(), None).await;
                }
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(_) => return,
            }
        }
    }

    async fn tell(&self, key: &(String, String), old: Option<&Value>, new: Option<&Value>) {
        if let Some(line) = line(&self.resource.kind, key, old, new) {
            self.console.say(Speaker::Objects, line).await;
        }
    }
}

fn key(object: &DynamicObject) -> (String, String) {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    (text(&object.metadata.namespace), text(&object.metadata.name))
}

fn value(object: DynamicObject) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// What a change is called; None when it is not worth a line.
fn line(
    kind: &str,
    (namespace, name): &(String, String),
    old: Option<&Value>,
    new: Option<&Value>,
) -> Option<String> {
    if kind == "Event" {
        return new.map(event);
    }
    let name = if namespace.is_empty() {
        name.clone()
    } else {
        format!("{namespace}/{name}")
    };
    let what = match (old, new) {
        (None, Some(_)) => "created".to_owned(),
        (_, None) => "deleted".to_owned(),
        (Some(old), Some(new)) if kind == "Secret" => {
            // Nobody's secrets stand in a terminal.
            let secret = |object: &Value| (object["data"].clone(), object["type"].clone());
            return (secret(old) != secret(new)).then(|| format!("{kind} {name}: data changed"));
        }
        (Some(old), Some(new)) => describe(old, new)?,
    };
    Some(format!("{kind} {name}: {what}"))
}

fn event(event: &Value) -> String {
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
    fn a_line_says_what_became_of_whom() {
        let key = ("default".to_owned(), "a".to_owned());
        let (one, two) = (json!({ "spec": 1 }), json!({ "spec": 2 }));
        assert_eq!(
            line("Foo", &key, None, Some(&one)).unwrap(),
            "Foo default/a: created"
        );
        assert_eq!(
            line("Foo", &key, Some(&one), Some(&two)).unwrap(),
            "Foo default/a: spec 1 → 2"
        );
        assert_eq!(
            line("Foo", &key, Some(&one), None).unwrap(),
            "Foo default/a: deleted"
        );
        assert_eq!(line("Foo", &key, Some(&one), Some(&one)), None);
    }

    #[test]
    fn secrets_are_not_shown() {
        let key = ("default".to_owned(), "a".to_owned());
        let secret = |text: &str| json!({ "data": { "password": text } });
        let line = line(
            "Secret",
            &key,
            Some(&secret("aHVudGVy")),
            Some(&secret("c2VjcmV0")),
        )
        .unwrap();
        assert_eq!(line, "Secret default/a: data changed");
    }
}

//! A model API server with one object and server-side apply, and the informers' cache of that object.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tower::service_fn;

use crate::{
    ApiResource, Kind, NamespacedName, Scope, WithStatus,
    client::{CachedObjects, Connection},
};

pub(super) type Fields = BTreeMap<String, String>;

/// The kind of the only object, `shop/a`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Widget {
    pub(super) metadata: WidgetMetadata,
    #[serde(default)]
    pub(super) spec: Fields,
    #[serde(default)]
    pub(super) status: Fields,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WidgetMetadata {
    pub(super) uid: String,
    pub(super) resource_version: String,
    #[serde(default)]
    pub(super) managed_fields: Vec<Value>,
}

impl Kind for Widget {
    fn info() -> ApiResource {
        ApiResource {
            group: "shop.dev".into(),
            version: "v1".into(),
            kind: "Widget".into(),
            plural: "widgets".into(),
            scope: Scope::Namespaced,
        }
    }
}

impl WithStatus for Widget {}

pub(super) fn widget_name() -> NamespacedName {
    NamespacedName::namespaced("shop", "a")
}

/// A failure of the next patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// It is not carried out.
    Refused,
    /// It is carried out, and its answer does not arrive.
    AnswerLost,
}

/// Cloning copies a pointer.
#[derive(Clone, Default)]
pub(super) struct ModelServer(Arc<Mutex<ServerState>>);

#[derive(Default)]
struct ServerState {
    object: Option<ModelObject>,
    last_version: u64,
    /// Fields that the schema does not know; they are dropped.
    unknown_fields: BTreeSet<String>,
    warning: Option<&'static str>,
    next_failure: Option<Failure>,
    requests: u32,
    /// Each state of the object since the beginning, without managed fields.
    history: Vec<Option<Value>>,
    /// The cache shows this state of the history.
    cached: usize,
    keeps_whole_objects: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct ModelObject {
    uid: u64,
    version: u64,
    /// By section: `spec`, `status`.
    sections: BTreeMap<&'static str, Fields>,
    /// By section and manager; those of updates are managers of their own.
    owned: BTreeMap<(&'static str, String), BTreeSet<String>>,
}

/// The values and owners of an object, without its identity and version.
pub(super) type Content = (
    BTreeMap<&'static str, Fields>,
    BTreeMap<(&'static str, String), BTreeSet<String>>,
);

impl ModelServer {
    pub(super) fn new() -> Self {
        let server = Self::default();
        let mut state = server.0.lock();
        state.history.push(None);
        state.keeps_whole_objects = true;
        drop(state);
        server
    }

    /// A connection of the field manager `op` to this server.
    pub(super) fn connection(&self) -> Connection {
        let state = self.0.clone();
        let service = service_fn(move |request: Request<Body>| {
            let state = state.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                let answer = state.lock().answer(&head, &body);
                answer.map_err(tower::BoxError::from)
            }
        });
        Connection::new(kube::Client::new(service, "default")).with_field_manager("op")
    }

    pub(super) fn content(&self) -> Option<Content> {
        let state = self.0.lock();
        let object = state.object.as_ref()?;
        Some((object.sections.clone(), object.owned.clone()))
    }

    pub(super) fn take_requests(&self) -> u32 {
        std::mem::take(&mut self.0.lock().requests)
    }

    /// Lets the cache show up to so many states more.
    pub(super) fn advance_cache(&self, states: usize) {
        let mut state = self.0.lock();
        state.cached = (state.cached + states).min(state.history.len() - 1);
    }

    pub(super) fn sync_cache(&self) {
        self.advance_cache(usize::MAX / 2);
    }

    pub(super) fn cached_spec(&self, field: &str) -> Option<String> {
        let state = self.0.lock();
        let value = &state.history[state.cached].as_ref()?["spec"][field];
        value.as_str().map(str::to_owned)
    }

    pub(super) fn keep_parts_of_objects(&self) {
        self.0.lock().keeps_whole_objects = false;
    }

    pub(super) fn set_unknown_field(&self, field: &str) {
        self.0.lock().unknown_fields.insert(field.to_owned());
    }

    pub(super) fn learn_all_fields(&self) {
        self.0.lock().unknown_fields.clear();
    }

    pub(super) fn set_warning(&self, warning: Option<&'static str>) {
        self.0.lock().warning = warning;
    }

    pub(super) fn fail_next_patch(&self, failure: Failure) {
        self.0.lock().next_failure = Some(failure);
    }

    /// An update by another client: sets a field, and creates the object if it is missing.
    pub(super) fn edit(&self, section: &'static str, field: &str, value: &str) {
        let mut state = self.0.lock();
        let fields = [(field.to_owned(), Some(value.to_owned()))].into();
        let _ = state.change(true, |object| {
            object.update(section, "kubectl", fields);
            Ok(())
        });
    }

    /// A forced apply of another field manager.
    pub(super) fn apply_as(&self, manager: &str, intent: &Fields) {
        let mut state = self.0.lock();
        let _ = state.change(true, |object| object.apply("spec", manager, intent, true));
    }

    pub(super) fn delete(&self) {
        self.0.lock().delete();
    }
}

impl CachedObjects for ModelServer {
    fn object_at(
        &self,
        kind: &ApiResource,
        name: &NamespacedName,
        is_version: &dyn Fn(&str, &str) -> bool,
    ) -> Option<Bytes> {
        let state = self.0.lock();
        let object = state.history[state.cached].as_ref()?;
        if *kind != Widget::info() || *name != widget_name() || !state.keeps_whole_objects {
            return None;
        }
        let metadata = &object["metadata"];
        let (uid, version) = (metadata["uid"].as_str()?, metadata["resourceVersion"].as_str()?);
        is_version(uid, version).then(|| object.to_string().into())
    }
}

/// A refusal: code and reason.
type Refusal = (u16, &'static str);

impl ServerState {
    fn answer(&mut self, head: &http::request::Parts, body: &[u8]) -> Result<Response<Body>, &'static str> {
        self.requests += 1;
        let failure = match head.method.as_str() {
            "PATCH" => self.next_failure.take(),
            _ => None,
        };
        if failure == Some(Failure::Refused) {
            return Ok(self.refusal((422, "Invalid")));
        }
        let answer = self.carry_out(head, body);
        if failure == Some(Failure::AnswerLost) {
            return Err("the connection was lost");
        }
        Ok(match answer {
            Ok(object) => self.response(200, &object),
            Err(refusal) => self.refusal(refusal),
        })
    }

    fn carry_out(&mut self, head: &http::request::Parts, body: &[u8]) -> Result<Value, Refusal> {
        let query = head.uri.query().unwrap_or_default();
        let parameter = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find_map(|(key, value)| (key == name).then(|| value.to_owned()))
        };
        let manager = parameter("fieldManager").unwrap_or_default();
        let section = if head.uri.path().ends_with("/status") {
            "status"
        } else {
            "spec"
        };
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let before = (self.object.clone(), self.history.len());
        let applies = head.headers.get("content-type").is_some_and(|value| {
            let value = value.as_bytes();
            value.starts_with(b"application/apply-patch")
        });
        let carried_out = match head.method.as_str() {
            "DELETE" => {
                self.object.as_ref().ok_or((404, "NotFound"))?;
                self.delete();
                return Ok(json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}));
            }
            "PATCH" if applies => {
                let mut intent: Fields = serde_json::from_value(body[section].clone()).unwrap_or_default();
                intent.retain(|field, _| !self.unknown_fields.contains(field));
                let force = parameter("force").as_deref() == Some("true");
                self.change(section == "spec", |object| {
                    object.apply(section, &manager, &intent, force)
                })
            }
            _ => {
                let fields = serde_json::from_value(body[section].clone()).unwrap_or_default();
                self.change(false, |object| {
                    object.update(section, &manager, fields);
                    Ok(())
                })
            }
        };
        carried_out?;
        let object = self.object.as_ref().ok_or((404, "NotFound"))?.json(true);
        if parameter("dryRun").is_some() {
            self.object = before.0;
            self.history.truncate(before.1);
        }
        Ok(object)
    }

    /// Changes the object. It gets another version if it differs then.
    fn change(
        &mut self,
        creates: bool,
        change: impl FnOnce(&mut ModelObject) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mut object = match &self.object {
            Some(object) => object.clone(),
            None if creates => ModelObject {
                uid: self.last_version + 1,
                ..ModelObject::default()
            },
            None => return Err((404, "NotFound")),
        };
        change(&mut object)?;
        if self.object.as_ref() != Some(&object) {
            self.last_version += 1;
            object.version = self.last_version;
            self.history.push(Some(object.json(false)));
            self.object = Some(object);
        }
        Ok(())
    }

    fn delete(&mut self) {
        if self.object.take().is_some() {
            self.last_version += 1;
            self.history.push(None);
        }
    }

    fn response(&self, code: u16, body: &Value) -> Response<Body> {
        let mut response = Response::builder().status(code);
        if let Some(warning) = self.warning {
            response = response.header("warning", warning);
        }
        response.body(Body::from(body.to_string().into_bytes())).unwrap()
    }

    fn refusal(&self, (code, reason): Refusal) -> Response<Body> {
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason});
        self.response(code, &status)
    }
}

impl ModelObject {
    /// A server-side apply. Managers without fields are removed.
    fn apply(
        &mut self,
        section: &'static str,
        manager: &str,
        intent: &Fields,
        force: bool,
    ) -> Result<(), Refusal> {
        let me = (section, manager.to_owned());
        let fields = self.sections.entry(section).or_default();
        let differs = |field: &String| fields.get(field) != intent.get(field);
        let others = |owner: &(&'static str, String)| owner.0 == section && *owner != me;
        let contested: BTreeSet<String> = self
            .owned
            .iter()
            .filter(|(owner, _)| others(owner))
            .flat_map(|(_, owned)| {
                owned
                    .iter()
                    .filter(|field| intent.contains_key(*field) && differs(field))
            })
            .cloned()
            .collect();
        if !contested.is_empty() && !force {
            return Err((409, "Conflict"));
        }
        let dropped = self.owned.remove(&me).unwrap_or_default();
        for owned in self.owned.iter_mut().filter(|(owner, _)| others(owner)) {
            owned.1.retain(|field| !contested.contains(field));
        }
        for field in dropped.iter().filter(|field| !intent.contains_key(*field)) {
            if !self
                .owned
                .iter()
                .any(|(owner, owned)| others(owner) && owned.contains(field))
            {
                fields.remove(field);
            }
        }
        fields.extend(intent.clone());
        self.owned.insert(me, intent.keys().cloned().collect());
        self.owned.retain(|_, owned| !owned.is_empty());
        Ok(())
    }

    /// An update: the manager becomes the only owner of each changed field.
    fn update(&mut self, section: &'static str, manager: &str, changes: BTreeMap<String, Option<String>>) {
        let fields = self.sections.entry(section).or_default();
        for (field, value) in changes {
            if fields.get(&field) == value.as_ref() {
                continue;
            }
            for ((of, _), owned) in &mut self.owned {
                if *of == section {
                    owned.remove(&field);
                }
            }
            match value {
                Some(value) => {
                    fields.insert(field.clone(), value);
                    let me = (section, format!("{manager} (update)"));
                    self.owned.entry(me).or_default().insert(field);
                }
                None => {
                    fields.remove(&field);
                }
            }
        }
        self.owned.retain(|_, owned| !owned.is_empty());
    }

    fn json(&self, with_managed_fields: bool) -> Value {
        let section = |name: &str| self.sections.get(name).cloned().unwrap_or_default();
        let mut object = json!({
            "apiVersion": "shop.dev/v1", "kind": "Widget",
            "metadata": {
                "name": "a", "namespace": "shop",
                "uid": format!("uid-{}", self.uid), "resourceVersion": self.version.to_string(),
            },
            "spec": section("spec"),
            "status": section("status"),
        });
        if with_managed_fields {
            let managers = self.owned.keys().map(|(_, manager)| json!({"manager": manager}));
            object["metadata"]["managedFields"] = managers.collect();
        }
        object
    }
}

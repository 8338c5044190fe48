//! Scheme: maps kinds to Rust types, to decode objects of several kinds.

use std::{
    any::{Any, TypeId},
    borrow::Cow,
    collections::BTreeMap,
    fmt,
};

use serde_json::Value;

use crate::{ApiResource, Kind, NamespacedName, Scope, yaml};

type Boxed = Box<dyn Any + Send + Sync>;

/// Maps group, version and kind to Rust types and back: decodes YAML or JSON with objects of several kinds.
///
/// ```
/// use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service};
/// use kubewright::client::scheme::Scheme;
///
/// let scheme = Scheme::new().with::<Deployment>().with::<Service>();
/// let objects = scheme.decode_yaml("
/// apiVersion: v1
/// kind: Service
/// metadata: {name: web}
/// ---
/// apiVersion: apps/v1
/// kind: Deployment
/// metadata: {name: web}
/// ")?;
/// assert!(objects[0].get::<Service>().is_some());
/// assert_eq!(objects[1].to_string(), "Deployment web");
/// # Ok::<_, kubewright::client::scheme::SchemeError>(())
/// ```
#[derive(Clone, Default)]
pub struct Scheme {
    /// By `apiVersion` and kind.
    kinds: BTreeMap<(String, String), Known>,
    types: BTreeMap<TypeId, (String, String)>,
}

#[derive(Clone)]
struct Known {
    info: ApiResource,
    decode: fn(Value) -> Result<Boxed, serde_json::Error>,
}

/// A decoded object of any registered type.
pub struct Decoded {
    info: ApiResource,
    namespace: Option<String>,
    name: Option<String>,
    object: Boxed,
}

/// A document that cannot be decoded, with its position.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemeError {
    /// It is not valid YAML or JSON.
    #[error("this cannot be read: {0}")]
    Syntax(String),
    /// It is not a Kubernetes object.
    #[error("{place} is no object of Kubernetes: it has no {missing}")]
    NoObject {
        /// The number of the document, from 1, and of the item in a list.
        place: String,
        /// The missing field.
        missing: &'static str,
    },
    /// The kind is not registered.
    #[error(
        "{place} is of kind {kind} in {api_version}, which the scheme does not know: add its type with `Scheme::with`"
    )]
    Unknown {
        /// The number of the document, from 1, and of the item in a list.
        place: String,
        /// The document's value.
        api_version: String,
        /// The document's value.
        kind: String,
    },
    /// It does not decode as its type.
    #[error("{place}, {kind} {name:?}, does not decode: {problem}")]
    Decode {
        /// The number of the document, from 1, and of the item in a list.
        place: String,
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// The decoder's error; hidden for a Secret.
        problem: String,
    },
}

impl Scheme {
    /// Creates an empty scheme.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a type for its kind. It replaces an earlier type of that kind.
    #[must_use]
    pub fn with<K: Kind>(mut self) -> Self {
        let info = K::info();
        let key = (info.api_version(), info.kind.to_string());
        self.types.retain(|_, known| *known != key);
        self.types.insert(TypeId::of::<K>(), key.clone());
        let decode = |object| Ok(Box::new(serde_json::from_value::<K>(object)?) as Boxed);
        self.kinds.insert(key, Known { info, decode });
        self
    }

    /// Returns the kind of a type, if it is registered.
    pub fn kind_of<K: 'static>(&self) -> Option<&ApiResource> {
        let key = self.types.get(&TypeId::of::<K>())?;
        self.kinds.get(key).map(|known| &known.info)
    }

    /// Returns the kind with this `apiVersion` and `kind`, if it is registered.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<&ApiResource> {
        let known = self.kinds.get(&(api_version.to_owned(), kind.to_owned()));
        known.map(|known| &known.info)
    }

    /// Returns the registered kinds, sorted by `apiVersion` and name.
    pub fn kinds(&self) -> impl Iterator<Item = &ApiResource> {
        self.kinds.values().map(|known| &known.info)
    }

    /// Decodes YAML documents (or JSON, which is YAML). Items of a `List` are decoded one by one, empty documents are skipped. If one fails,
    /// all do.
    pub fn decode_yaml(&self, text: &str) -> Result<Vec<Decoded>, SchemeError> {
        let documents = yaml::documents(text).map_err(SchemeError::Syntax)?;
        let mut objects = Vec::new();
        for (number, document) in (1_usize..).zip(documents) {
            if !document.is_null() {
                self.decode_into(&mut objects, document, &format!("document {number}"))?;
            }
        }
        Ok(objects)
    }

    /// Decodes one object.
    pub fn decode(&self, object: Value) -> Result<Decoded, SchemeError> {
        self.one(object, "this")
    }

    fn decode_into(
        &self,
        objects: &mut Vec<Decoded>,
        mut document: Value,
        place: &str,
    ) -> Result<(), SchemeError> {
        if document["kind"] != "List" || document["apiVersion"] != "v1" {
            objects.push(self.one(document, place)?);
            return Ok(());
        }
        if let Value::Array(items) = document["items"].take() {
            for (number, item) in (1_usize..).zip(items) {
                // A list within a list is not an object.
                objects.push(self.one(item, &format!("item {number} of {place}"))?);
            }
        }
        Ok(())
    }

    fn one(&self, object: Value, place: &str) -> Result<Decoded, SchemeError> {
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let no_object = |missing| SchemeError::NoObject {
            place: place.to_owned(),
            missing,
        };
        let key = (
            text(&object["apiVersion"]).ok_or_else(|| no_object("apiVersion"))?,
            text(&object["kind"]).ok_or_else(|| no_object("kind"))?,
        );
        let Some(Known { info, decode }) = self.kinds.get(&key) else {
            let (api_version, kind) = key;
            return Err(SchemeError::Unknown {
                place: place.to_owned(),
                api_version,
                kind,
            });
        };
        let metadata = &object["metadata"];
        let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
        let decoded = decode(object).map_err(|error| SchemeError::Decode {
            place: place.to_owned(),
            kind: info.kind.to_string(),
            name: name.clone().unwrap_or_default(),
            problem: if info.is_secret() {
                "what is wrong is not shown".to_owned()
            } else {
                error.to_string()
            },
        });
        Ok(Decoded {
            info: info.clone(),
            namespace,
            name,
            object: decoded?,
        })
    }
}

impl Decoded {
    /// Its kind.
    pub fn kind(&self) -> &ApiResource {
        &self.info
    }

    /// Returns its name, in `namespace` if its kind is namespaced and it has no namespace; `None` if it has no name (`generateName`).
    pub fn name(&self, namespace: &str) -> Option<NamespacedName> {
        let name = self.name.as_deref()?;
        Some(match self.info.scope {
            Scope::Cluster => NamespacedName::cluster(name),
            Scope::Namespaced => {
                NamespacedName::namespaced(self.namespace.as_deref().unwrap_or(namespace), name)
            }
        })
    }

    /// Returns the object if it is a `K`.
    pub fn get<K: 'static>(&self) -> Option<&K> {
        self.object.downcast_ref()
    }

    /// Returns the object if it is a `K`, else itself as the error.
    pub fn into_kind<K: 'static>(self) -> Result<K, Box<Self>> {
        match self.object.downcast() {
            Ok(object) => Ok(*object),
            Err(object) => Err(Box::new(Self { object, ..self })),
        }
    }
}

/// Kind and name: `Deployment default/web`.
impl fmt::Display for Decoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self
            .name
            .as_deref()
            .map_or(Cow::Borrowed("without a name"), Cow::Borrowed);
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{name}", self.info.kind),
            None => write!(f, "{} {name}", self.info.kind),
        }
    }
}

impl fmt::Debug for Decoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decoded({self})")
    }
}

impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.kinds.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{Namespace, Secret, Service},
    };

    use super::*;

    fn scheme() -> Scheme {
        Scheme::new()
            .with::<Deployment>()
            .with::<Namespace>()
            .with::<Secret>()
    }

    fn refused(text: &str) -> String {
        scheme().decode_yaml(text).unwrap_err().to_string()
    }

    #[test]
    fn documents_and_lists_decode_as_their_types() {
        let text = "
# nothing but a comment
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
---
{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [
  {\"apiVersion\": \"apps/v1\", \"kind\": \"Deployment\", \"metadata\": {\"name\": \"web\"}, \"spec\": null},
  {\"apiVersion\": \"apps/v1\", \"kind\": \"Deployment\", \"metadata\": {\"generateName\": \"web-\", \"namespace\": \"b\"}}]}
";
        let mut objects = scheme().decode_yaml(text).unwrap();
        let said: Vec<String> = objects.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            ["Namespace shop", "Deployment web", "Deployment b/without a name"]
        );
        assert_eq!(objects[0].name("a"), Some(NamespacedName::cluster("shop")));
        assert_eq!(objects[1].name("a"), Some(NamespacedName::namespaced("a", "web")));
        assert_eq!(objects[2].name("a"), None);
        assert!(objects[1].get::<Namespace>().is_none());
        let other = objects.pop().unwrap().into_kind::<Namespace>().unwrap_err();
        let deployment = other.into_kind::<Deployment>().unwrap();
        assert_eq!(deployment.metadata.generate_name.as_deref(), Some("web-"));
        assert!(scheme().decode_yaml("").unwrap().is_empty());
    }

    #[test]
    fn types_and_kinds_find_each_other() {
        #[derive(serde::Deserialize)]
        struct Mine {}
        impl Kind for Mine {
            fn info() -> ApiResource {
                Deployment::info()
            }
        }

        let scheme = scheme();
        assert_eq!(scheme.kind_of::<Deployment>(), Some(&Deployment::info()));
        assert_eq!(scheme.kind("apps/v1", "Deployment"), Some(&Deployment::info()));
        assert_eq!(scheme.kind_of::<Service>(), None);
        assert_eq!(scheme.kind("apps/v2", "Deployment"), None);
        assert_eq!(scheme.kinds().count(), 3);
        let scheme = scheme.with::<Mine>();
        assert!(scheme.kind_of::<Mine>().is_some() && scheme.kind_of::<Deployment>().is_none());
        let object = serde_json::json!({"apiVersion": "apps/v1", "kind": "Deployment"});
        assert!(scheme.decode(object).unwrap().get::<Mine>().is_some());
    }

    #[test]
    fn decode_error_has_the_position() {
        let namespace = "apiVersion: v1\nkind: Namespace\n---\n";
        for (text, said) in [
            ("a: [", "cannot be read"),
            (
                "just text",
                "document 2 is no object of Kubernetes: it has no apiVersion",
            ),
            (
                "apiVersion: v1",
                "document 2 is no object of Kubernetes: it has no kind",
            ),
            (
                "apiVersion: v1\nkind: Pod",
                "document 2 is of kind Pod in v1, which the scheme does not know",
            ),
            (
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: many}",
                "document 2, Deployment \"web\", does not decode: invalid type: string \"many\"",
            ),
            (
                "apiVersion: v1\nkind: List\nitems: [{}]",
                "item 1 of document 2 is no object",
            ),
        ] {
            let error = refused(&format!("{namespace}{text}"));
            assert!(error.contains(said), "{text}: {error}");
        }
        for secret in [
            "data: {key: {hunter2: 1}}",
            "data: hunter2",
            "data: {key: hunter2%}",
        ] {
            let error = refused(&format!(
                "apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\n{secret}"
            ));
            assert!(
                error.contains("Secret \"s\"") && !error.contains("hunter2"),
                "{error}"
            );
        }
        let error = refused("apiVersion: v1\nkind: Secret\ndata: {key: [hunter2}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

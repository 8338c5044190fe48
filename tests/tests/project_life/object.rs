//! An object as its writer wrote it last: what it must be in each version.

use serde_json::{Map, Value, json};

/// The version of the first release.
pub(crate) const OLD: &str = "v1alpha1";
/// The version with a renamed, a split and an added field.
pub(crate) const NEW: &str = "v1";
/// The annotations in which a conversion keeps what the old version lacks.
const CONVERSION_ANNOTATIONS: &str = "conversion.kubewright.dev/";

/// The expected state of an object.
#[derive(Clone)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) labels: Value,
    pub(crate) annotations: Value,
    /// The spec in the new version.
    pub(crate) spec: Value,
    /// How often the spec was written. A conversion, or the migration, that changed an object would count as well.
    pub(crate) generation: u64,
    uid: Value,
}

impl Object {
    pub(crate) fn new(name: &str, app: &str) -> Self {
        Self {
            name: name.to_owned(),
            labels: Value::Null,
            annotations: Value::Null,
            spec: json!({"app": app, "instance": name, "size": 0}),
            generation: 0,
            uid: Value::Null,
        }
    }

    /// Returns the object that is created in a version.
    pub(crate) fn to_json(&self, version: &str) -> Value {
        let mut metadata = json!({"name": self.name});
        for (field, value) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !value.is_null() {
                metadata[field] = value.clone();
            }
        }
        json!({"apiVersion": api_version(version), "kind": "Foo", "metadata": metadata, "spec": self.spec_in(version)})
    }

    /// Returns a part of the object: this change of its spec.
    pub(crate) fn part(&self, version: &str, change: &Value) -> Value {
        json!({"apiVersion": api_version(version), "kind": "Foo", "metadata": {"name": self.name}, "spec": change})
    }

    /// Returns the whole spec in a version.
    pub(crate) fn spec_in(&self, version: &str) -> Value {
        if version == NEW {
            return self.spec.clone();
        }
        let text = |field: &str| self.spec[field].as_str().unwrap();
        let deployment_name = format!("{}-{}", text("app"), text("instance"));
        json!({"deploymentName": deployment_name, "replicas": self.spec["size"]})
    }

    /// Accepts the response to the object's creation.
    pub(crate) fn created(&mut self, version: &str, response: &Value) {
        self.uid = response["metadata"]["uid"].clone();
        self.generation = 1;
        self.assert_is(version, response, "the created object");
    }

    /// Changes the spec by a client of this version, with another app if it is given. Returns the changed fields in the version.
    pub(crate) fn change(&mut self, version: &str, number: u64, app: Option<&str>) -> Value {
        self.generation += 1;
        self.spec["size"] = json!(number % 9 + 1);
        if version == NEW {
            self.spec["note"] = json!(format!("note {number}"));
        }
        if let Some(app) = app {
            self.spec["app"] = json!(app);
        }
        let (fields, name): (&[&str], &str) = if version == NEW {
            (&["size", "note"], "app")
        } else {
            (&["replicas"], "deploymentName")
        };
        let spec = self.spec_in(version);
        let fields = fields.iter().copied().chain(app.map(|_| name));
        fields
            .map(|field| (field.to_owned(), spec[field].clone()))
            .collect::<Map<_, _>>()
            .into()
    }

    /// Panics unless what was found is this object in this version.
    pub(crate) fn assert_is(&self, version: &str, found: &Value, what: &str) {
        let metadata = &found["metadata"];
        let mut annotations = metadata["annotations"].clone();
        if version == OLD
            && let Some(present) = annotations.as_object_mut()
        {
            present.retain(|name, _| !name.starts_with(CONVERSION_ANNOTATIONS));
            if present.is_empty() {
                annotations = Value::Null;
            }
        }
        let compared = json!({
            "apiVersion": found["apiVersion"], "name": metadata["name"], "uid": metadata["uid"], "generation": metadata["generation"],
            "labels": metadata["labels"], "annotations": annotations, "spec": found["spec"],
        });
        let expected = json!({
            "apiVersion": api_version(version), "name": self.name, "uid": self.uid, "generation": self.generation,
            "labels": self.labels, "annotations": self.annotations, "spec": self.spec_in(version),
        });
        assert_eq!(compared, expected, "{what}: {found}");
    }
}

fn api_version(version: &str) -> String {
    format!("demo.dev/{version}")
}

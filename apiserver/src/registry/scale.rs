//! The scale subresource: the number of replicas, in the same form for every kind.

use super::managed_fields::{track_scale, version_of};
use super::update::{check_target, check_uid};
use super::{Registry, Target, WriteContext};
use crate::apply;
use crate::crd::ScalePaths;
use crate::kinds::Kind;
use crate::kinds::to_request_version;
use crate::meta;
use crate::status::{ApiError, Cause};
use serde_json::{Map, Value, json};

impl Registry {
    /// Returns the scale of an object that is read.
    ///
    /// # Errors
    ///
    /// 500 if a custom resource lacks the field of the replicas.
    pub fn read_scale(&self, target: &Target, object: &Value) -> Result<Value, ApiError> {
        match missing_replicas(&target.kind, object)? {
            Some(path) => Err(ApiError::internal(format!(
                "the spec replicas field {path:?} does not exist"
            ))),
            None => self.scale(target, object),
        }
    }

    /// Returns the scale of an object.
    pub fn scale(&self, target: &Target, object: &Value) -> Result<Value, ApiError> {
        let paths = scale_paths(&target.kind)?;
        let converted = to_request_version(&target.kind, object);
        let object = converted.as_ref().unwrap_or(object);
        let mut metadata = Map::new();
        for key in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if let Some(value) = object["metadata"].get(key) {
                metadata.insert(key.to_owned(), value.clone());
            }
        }
        let number = |path: &[String]| value_at(object, path).as_i64().unwrap_or(0);
        let mut scale = json!({
            "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata,
            "spec": { "replicas": number(&paths.spec) }, "status": { "replicas": number(&paths.status) },
        });
        if number(&paths.spec) == 0 {
            scale["spec"] = json!({});
        }
        let selector = paths
            .selector
            .map(|path| selector_text(value_at(object, &path)))
            .unwrap_or_default();
        if !selector.is_empty() {
            scale["status"]["selector"] = json!(selector);
        }
        Ok(scale)
    }

    /// Returns the object with the replicas of a scale that replaces the current one.
    pub fn with_scale(
        &self,
        target: &Target,
        object: &Value,
        scale: Value,
        context: WriteContext<'_>,
    ) -> Result<Value, ApiError> {
        check_uid(target, &scale, Some(object), context.options.dry_run)?;
        self.with_patched_scale(target, object, scale, context)
    }

    /// Returns the object with the replicas of its patched scale, or of an applied one.
    pub(super) fn with_patched_scale(
        &self,
        target: &Target,
        object: &Value,
        mut scale: Value,
        context: WriteContext<'_>,
    ) -> Result<Value, ApiError> {
        let path = scale_paths(&target.kind)?.spec;
        let live = self.scale_with_managed_fields(target, object)?;
        if let (Some(record), false) = (live["metadata"].get("managedFields"), context.options.applied) {
            meta::metadata_mut(&mut scale).insert("managedFields".into(), record.clone());
        }
        track_scale(&target.kind, &live, &mut scale, context.options)?;
        check_target(target, &mut scale)?;
        self.mutate_scale_by_webhooks(target, &live, &mut scale, context)?;
        let managed_fields = parent_managed_fields(&target.kind, object, &scale);
        let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
        // Validation of the custom resource refuses negative numbers itself.
        if replicas < 0 && target.kind.definition.is_none() {
            let why = "must be greater than or equal to 0";
            let cause = Cause::invalid("spec.replicas", &json!(replicas), why);
            return Err(ApiError::invalid_of(
                "autoscaling",
                "Scale",
                &target.name,
                &[cause],
            ));
        }
        let (uid, existing) = (meta::uid(&scale), meta::uid(object));
        if !uid.is_empty() && uid != existing && target.kind.definition.is_none() {
            let mut kind = Kind::clone(&target.kind);
            kind.plural += "/scale";
            let why =
                format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {existing}");
            return Err(ApiError::conflict(&kind, &target.name, why));
        }
        let mut object = object.clone();
        let mut field = &mut object;
        for key in &path {
            field = meta::entry_mut_any(field, key);
        }
        *field = json!(replicas);
        let metadata = meta::metadata_mut(&mut object);
        meta::set_or_remove(metadata, "managedFields", &managed_fields.unwrap_or_default());
        match &scale["metadata"]["resourceVersion"] {
            Value::String(version) if !version.is_empty() => {
                metadata.insert("resourceVersion".into(), json!(version));
            }
            _ => {}
        }
        Ok(object)
    }

    /// Returns the scale of an object, with the managers of the replicas.
    pub(super) fn scale_with_managed_fields(
        &self,
        target: &Target,
        object: &Value,
    ) -> Result<Value, ApiError> {
        let mut scale = self.scale(target, object)?;
        let replicas = |version: &str| replicas_path(&target.kind, version);
        if let Some(record) = apply::scale_managed_fields(&object["metadata"]["managedFields"], &replicas) {
            scale["metadata"]["managedFields"] = record;
        }
        Ok(scale)
    }
}

/// Returns the object's managedFields after a write to its scale: the writer manages the replicas.
fn parent_managed_fields(kind: &Kind, object: &Value, scale: &Value) -> Option<Value> {
    let (parent, child) = (
        &object["metadata"]["managedFields"],
        &scale["metadata"]["managedFields"],
    );
    let replicas = |version: &str| replicas_path(kind, version);
    apply::parent_managed_fields(parent, child, &kind.api_version(), &replicas)
}

/// Returns the path of the replicas in a version of the kind; None in a version without a scale.
fn replicas_path(kind: &Kind, api_version: &str) -> Option<Vec<String>> {
    match &kind.definition {
        Some(definition) => {
            let scale = version_of(kind, definition, api_version)?.scale.as_ref()?;
            Some(scale.spec.clone())
        }
        None => Some(vec!["spec".to_owned(), "replicas".to_owned()]),
    }
}

/// Returns the path of the replicas that a custom resource lacks.
pub(super) fn missing_replicas(kind: &Kind, object: &Value) -> Result<Option<String>, ApiError> {
    if kind.definition.is_none() {
        return Ok(None);
    }
    let path = scale_paths(kind)?.spec;
    Ok(value_at(object, &path)
        .is_null()
        .then(|| format!(".{}", path.join("."))))
}

pub(super) fn scale_paths(kind: &Kind) -> Result<ScalePaths, ApiError> {
    let split = |path: &str| path.split('.').map(str::to_owned).collect();
    match &kind.definition {
        Some(definition) => definition
            .version(&kind.version)
            .and_then(|version| version.scale.clone())
            .ok_or_else(ApiError::no_such_resource),
        None => Ok(ScalePaths {
            spec: split("spec.replicas"),
            status: split("status.replicas"),
            selector: Some(split("spec.selector")),
        }),
    }
}

fn value_at<'a>(object: &'a Value, path: &[String]) -> &'a Value {
    path.iter().fold(object, |value, key| &value[key.as_str()])
}

/// Formats a selector as a string.
fn selector_text(value: &Value) -> String {
    if let Value::String(text) = value {
        return text.clone();
    }
    let structured = value.get("matchLabels").is_some() || value.get("matchExpressions").is_some();
    let labels = if structured { &value["matchLabels"] } else { value };
    let mut parts: Vec<String> = labels
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    for expression in value["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let values = expression["values"].as_array().into_iter().flatten();
        let mut values: Vec<&str> = values.filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        parts.push(match expression["operator"].as_str() {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    parts.sort();
    parts.join(",")
}

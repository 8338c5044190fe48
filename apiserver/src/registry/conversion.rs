//! Conversion of custom resources by webhooks.
//!
//! What the store returns is in the version in which it is stored. A request converts it once, before it is used or shown; for kinds without a
//! conversion webhook that is left to `kinds::convert`, which needs no I/O.

use super::Registry;
use crate::kinds::Kind;
use crate::status::ApiError;
use crate::storage::Object;
use serde_json::Value;
use std::sync::Arc;

impl Registry {
    /// Returns objects as requests to the kind see them, if a webhook converts them; others are returned as they are. Blocks until the webhook
    /// responds.
    pub(crate) fn convert_by_webhook(
        &self,
        kind: &Kind,
        objects: Vec<Arc<Object>>,
    ) -> Result<Vec<Arc<Object>>, ApiError> {
        let version = kind.api_version();
        let is_different = |object: &Arc<Object>| object.value()["apiVersion"] != version;
        if kind.conversion_webhook().is_none() || !objects.iter().any(is_different) {
            return Ok(objects);
        }
        let mut values: Vec<Value> = objects.iter().map(|object| object.value().clone()).collect();
        for value in &mut values {
            normalize_stored(kind, value);
        }
        self.convert_values(kind, &mut values, &version)?;
        let converted = objects.iter().zip(values).map(|(object, mut value)| {
            if is_different(object) {
                prune(kind, &kind.version, &mut value);
            }
            Arc::new(Object::new(value, object.revision))
        });
        Ok(converted.collect())
    }

    /// Returns an object of a request in the version in which it is stored, if a webhook converts it.
    pub(super) fn convert_to_stored(&self, kind: &Kind, object: Value) -> Result<Value, ApiError> {
        let (Some(_), Some(definition)) = (kind.conversion_webhook(), &kind.definition) else {
            return Ok(object);
        };
        let mut values = [object];
        let version = format!("{}/{}", kind.group, definition.stored_version);
        self.convert_values(kind, &mut values, &version)?;
        let [object] = values;
        Ok(object)
    }

    /// Returns an object of the kind in another version for the comparison of managers; None if no webhook converts it.
    pub(super) fn convert_for_managers(
        &self,
        kind: &Kind,
        object: &Value,
        version: &str,
    ) -> Result<Option<Value>, String> {
        let Some(webhook) = kind.conversion_webhook() else {
            return Ok(None);
        };
        let mut values = [object.clone()];
        webhook.convert(&mut values, version, &self.store, self.webhook_caller())?;
        let [object] = values;
        Ok(Some(object))
    }

    fn convert_values(&self, kind: &Kind, values: &mut [Value], version: &str) -> Result<(), ApiError> {
        let Some(webhook) = kind.conversion_webhook() else {
            return Ok(());
        };
        let converted = webhook.convert(values, version, &self.store, self.webhook_caller());
        converted.map_err(|why| ApiError::new(500, "", why))
    }
}

/// Prunes and defaults a stored object by the schema of its version.
fn normalize_stored(kind: &Kind, object: &mut Value) {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let version = version.rsplit('/').next().unwrap_or_default().to_owned();
    let definition = kind.definition.as_ref();
    if let Some(version) = definition.and_then(|definition| definition.version(&version)) {
        version.schema.prune(object);
        version.schema.drop_nulls(object);
        version.schema.default(object);
    }
}

fn prune(kind: &Kind, version: &str, object: &mut Value) {
    let definition = kind.definition.as_ref();
    if let Some(version) = definition.and_then(|definition| definition.version(version)) {
        version.schema.prune(object);
        version.schema.drop_nulls(object);
    }
}

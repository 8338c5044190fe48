//! Webhooks of requests whose object is not the stored one: scales, and what is answered without being stored.

use super::{Registry, Target, WriteContext};
use crate::admission::{self, Attributes, Operation};
use crate::meta;
use crate::status::ApiError;
use serde_json::Value;

impl Registry {
    /// Lets webhooks change the scale of an object that is written by its scale.
    pub(super) fn mutate_scale_by_webhooks(
        &self,
        attributes: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), ApiError> {
        if attributes.webhooks.is_none() || attributes.subresource != "scale" {
            return Ok(());
        }
        let read = |target: &Target, object: &Value| self.scale_with_managed_fields(target, object);
        with_scales(attributes, object, read, |attributes, mut scale| {
            admission::mutate_by_webhooks(&self.admission, attributes, &mut scale)?;
            Ok(scale)
        })
        .and_then(|scale| set_replicas(attributes, object, &scale))
    }

    /// Lets webhooks refuse the scale of an object that is written by its scale.
    pub(super) fn validate_scale_by_webhooks(
        &self,
        attributes: &Attributes<'_>,
        object: &Value,
    ) -> Result<(), ApiError> {
        if attributes.webhooks.is_none() || attributes.subresource != "scale" {
            return Ok(());
        }
        let read = |target: &Target, object: &Value| self.scale(target, object);
        with_scales(attributes, object, read, |attributes, scale| {
            admission::validate_by_webhooks(&self.admission, attributes, &scale)
        })
    }

    /// Lets webhooks change and refuse an object that is not stored, such as a review, a binding or the options of a connection. Returns
    /// their warnings. Nothing but access reviews is created in a namespace that is missing or terminating.
    pub(crate) fn admit_virtual_resource(
        &self,
        target: &Target,
        subresource: &str,
        operation: Operation<'_>,
        object: &mut Value,
        context: WriteContext<'_>,
    ) -> Result<Vec<String>, ApiError> {
        let catalog = self.catalog();
        let attributes = self.attributes(&catalog, target, subresource, operation, context);
        if target.kind.group != "authorization.k8s.io" {
            admission::admit_virtual_resource(&self.admission, &attributes, object)?;
        }
        if context.webhooks.is_none() {
            return Ok(vec![]);
        }
        let admitted = admission::mutate_by_webhooks(&self.admission, &attributes, object)
            .and_then(|()| admission::validate_by_webhooks(&self.admission, &attributes, object));
        let warnings = context.take_warnings();
        admitted
            .map_err(|error| error.with_warnings(&warnings))
            .map(|()| warnings)
    }
}

/// Calls `act` with the attributes and the object of a write to the scale; `read` returns the scale of an object.
fn with_scales<T>(
    attributes: &Attributes<'_>,
    object: &Value,
    read: impl Fn(&Target, &Value) -> Result<Value, ApiError>,
    act: impl FnOnce(&Attributes<'_>, Value) -> Result<T, ApiError>,
) -> Result<T, ApiError> {
    let target = Target {
        kind: attributes.kind.clone().into(),
        namespace: attributes.namespace.to_owned(),
        name: attributes.name.to_owned(),
    };
    let scale = read(&target, object)?;
    let Operation::Update { old } = attributes.operation else {
        return act(attributes, scale);
    };
    let old = read(&target, old)?;
    let attributes = Attributes {
        operation: Operation::Update { old: &old },
        ..*attributes
    };
    act(&attributes, scale)
}

fn set_replicas(attributes: &Attributes<'_>, object: &mut Value, scale: &Value) -> Result<(), ApiError> {
    let mut field = object;
    for key in super::scale::scale_paths(attributes.kind)?.spec {
        field = meta::entry_mut_any(field, &key);
    }
    let replicas = &scale["spec"]["replicas"];
    *field = if replicas.is_null() {
        0.into()
    } else {
        replicas.clone()
    };
    Ok(())
}

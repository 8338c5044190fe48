//! Webhooks of requests whose object is not the stored one: scales, and what is answered without being stored.

use super::managed_fields::restore_invalid_managers;
use super::{Registry, Target, WriteContext};
use crate::admission::{self, Attributes, Operation};
use crate::status::ApiError;
use serde_json::Value;

impl Registry {
    /// Lets webhooks change a scale that replaces another one, before it changes its object.
    pub(super) fn mutate_scale_by_webhooks(
        &self,
        target: &Target,
        old: &Value,
        scale: &mut Value,
        context: WriteContext<'_>,
    ) -> Result<(), ApiError> {
        if context.webhooks.is_none() {
            return Ok(());
        }
        let catalog = self.catalog();
        let attributes = self.attributes(&catalog, target, "scale", Operation::Update { old }, context);
        let tracked = scale["metadata"]["managedFields"].clone();
        let outcome = admission::mutate_by_webhooks(&self.admission, &attributes, scale);
        if let (Some(warning), Some(report)) = (restore_invalid_managers(scale, &tracked), context.report) {
            report.warn(&warning);
        }
        outcome.map_err(|error| error.with_warnings(&context.take_warnings()))
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
        let target = Target::new(
            &attributes.kind.clone().into(),
            attributes.namespace,
            attributes.name,
        );
        let scale = self.scale(&target, object)?;
        let Operation::Update { old } = attributes.operation else {
            return admission::validate_by_webhooks(&self.admission, attributes, &scale);
        };
        let old = self.scale(&target, old)?;
        let attributes = Attributes {
            operation: Operation::Update { old: &old },
            ..*attributes
        };
        admission::validate_by_webhooks(&self.admission, &attributes, &scale)
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

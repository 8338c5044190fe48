//! Reviews in another version than that of the webhook's type: converted here, not by the API server.
//!
//! Otherwise, while no replica can convert, the API server would refuse each write in another version, whatever the failure policy: it
//! converts the object before it calls the webhook. That is so from the moment when a release with a new version is applied until its first
//! replica is ready.

use json_patch::Patch;
use serde_json::Value;

use super::{AdmissionError, AdmissionRequest};
use crate::{ApiResource, conversion::Converters};

/// The version in which a writer sends an object.
pub(super) struct SentVersion<'a> {
    converters: &'a Converters,
    api_version: String,
    /// The object as it was sent; null for a deletion.
    object: Value,
}

impl<'a> SentVersion<'a> {
    /// Converts the objects of a request to the version of the webhook; None if they have that version. The error names the object.
    pub(super) fn convert(
        request: &mut AdmissionRequest,
        kind: &ApiResource,
        converters: &'a Converters,
    ) -> Result<Option<Self>, String> {
        if request.resource.version == kind.version {
            return Ok(None);
        }
        let sent = Self {
            converters,
            api_version: format!("{}/{}", kind.group, request.resource.version),
            object: request.object.clone().unwrap_or_default(),
        };
        let wanted = kind.api_version();
        if let Some(object) = &mut request.object {
            *object = converters.convert(object.take(), &wanted)?.into();
        }
        if let Some(old) = &mut request.old_object {
            // The requesting user may not be allowed to read the stored object: only the log quotes it.
            let converted = converters.convert(old.take(), &wanted);
            let converted = converted.map_err(|_| {
                format!("the stored object cannot be converted to {wanted}: the operator's log says why")
            })?;
            *old = converted.into();
        }
        Ok(Some(sent))
    }

    /// Returns the patch of the object as it was sent, for one that was defaulted in the version of the webhook.
    pub(super) fn patch(&self, defaulted: Value) -> Result<Patch, AdmissionError> {
        let converted = self.converters.convert(defaulted, &self.api_version);
        let converted = converted.map_err(AdmissionError::new)?;
        Ok(json_patch::diff(&self.object, &converted.into()))
    }
}

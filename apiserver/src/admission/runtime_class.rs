//! RuntimeClass: the runtime class of a new pod exists, and the pod's overhead is that of the class.

use super::Attributes;
use crate::quote::quoted;
use crate::status::ApiError;
use serde_json::Value;

pub(super) fn admit(attributes: &Attributes<'_>, pod: &Value) -> Result<(), ApiError> {
    if !attributes.creates("", "Pod") {
        return Ok(());
    }
    let spec = &pod["spec"];
    match spec["runtimeClassName"].as_str() {
        None => {}
        Some("") => return Err(ApiError::new(500, "", "resource name may not be empty")),
        // This server knows no runtime classes but the default, which has no overhead.
        Some(class) => {
            let why = format!("pod rejected: RuntimeClass {} not found", quoted(class));
            return Err(attributes.forbidden(pod, why));
        }
    }
    if spec["overhead"]
        .as_object()
        .is_some_and(|overhead| !overhead.is_empty())
    {
        let why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
        return Err(attributes.forbidden(pod, why));
    }
    Ok(())
}

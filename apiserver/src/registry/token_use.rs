//! The label of Secrets with the day on which their token was last used.

use super::{Registry, Target};
use crate::auth::{LAST_USED_LABEL, TokenUse};
use crate::meta;
use crate::status::ApiError;
use serde_json::json;

impl Registry {
    /// Writes the day of a use into the label of the token's Secret. As in kube-apiserver, a write that fails does not fail the request: the
    /// next use repeats it.
    pub(crate) fn label_used_secret(&self, token: &TokenUse) {
        if let Some((secret, day)) = &token.unlabelled {
            let _ = self.label_secret(secret.value(), day);
        }
    }

    fn label_secret(&self, secret: &serde_json::Value, day: &str) -> Result<(), ApiError> {
        let kind = self.resource("", "secrets")?;
        let target = Target::new(&kind, meta::namespace(secret), meta::name(secret));
        let labelled = self.update_as_manager(&target, "", "kube-apiserver", |object| {
            super::update::check_uid(&target, secret, Some(object), false)?;
            let labels = meta::metadata_mut(object).entry("labels");
            labels.or_insert_with(|| json!({}))[LAST_USED_LABEL] = json!(day);
            Ok(())
        });
        labelled.map(drop)
    }
}

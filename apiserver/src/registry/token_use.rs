//! The label of Secrets with the day on which their token was last used.

use super::{Registry, Target, WriteContext};
use crate::auth::{LAST_USED_LABEL, TokenUse, User};
use crate::meta;
use crate::request::WriteOptions;
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
        let (user, options) = (User::system(), WriteOptions::of_manager("kube-apiserver"));
        let context = WriteContext::new(&user, &options);
        self.guaranteed_update(&target, "", false, context, |old| {
            let mut labelled = old.cloned().unwrap_or_default();
            super::update::check_uid(&target, secret, old, false)?;
            let labels = meta::metadata_mut(&mut labelled).entry("labels");
            labels.or_insert_with(|| json!({}))[LAST_USED_LABEL] = json!(day);
            Ok(labelled.into())
        })?;
        Ok(())
    }
}

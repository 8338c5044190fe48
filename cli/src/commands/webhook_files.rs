//! The files of a kind's webhooks.

use std::path::PathBuf;

use kubewright_templates::{
    RenderError, WebhookDefaulter, WebhookModule, WebhookTest, WebhookValidator, render,
};
use serde_json::Value;

use super::{built_in_examples::json_text, kind_target::KindTarget, registered_type::WEBHOOK};
use crate::{Context, Error, format::format_rust, source::WebhookType};

/// The names from which the files are rendered.
pub(super) struct WebhookFiles<'a> {
    pub(super) target: &'a KindTarget,
    /// The crate name in Rust code.
    pub(super) crate_name: &'a str,
    /// The API group of the project.
    pub(super) group: &'a str,
    /// What the webhooks do.
    pub(super) webhooks: &'a [WebhookType],
}

impl WebhookFiles<'_> {
    /// Returns the type that implements the webhooks.
    pub(super) fn name(&self) -> String {
        WEBHOOK.name(&self.target.kind)
    }

    /// Returns the path of the implementation.
    pub(super) fn module_path(&self) -> PathBuf {
        WEBHOOK.path(&self.target.module())
    }

    /// Returns the path of the test.
    pub(super) fn test_path(&self) -> PathBuf {
        WEBHOOK.test_path(&self.target.module())
    }

    /// Returns the names of `kubewright::webhooks` in the code of one webhook, sorted.
    pub(super) fn imports(&self, webhook: WebhookType) -> &'static [&'static str] {
        match webhook {
            WebhookType::Validating => &["AdmissionError", "AdmissionRequest", "Validation", "Validator"],
            WebhookType::Defaulting if self.target.is_scaffold => {
                &["AdmissionError", "AdmissionRequest", "Defaulter"]
            }
            WebhookType::Defaulting => &["AdmissionError", "AdmissionRequest", "Defaulter", "Operation"],
        }
    }

    /// Renders the implementation of one webhook, formatted.
    pub(super) fn code(&self, webhook: WebhookType, context: &Context<'_>) -> Result<String, Error> {
        Ok(format_rust(context, &[self.render_code(webhook)?])?.concat())
    }

    /// Renders the implementation and, with an example that an API server may accept, the test; both formatted.
    pub(super) fn render(
        &self,
        (example, in_cluster): (&Value, bool),
        context: &Context<'_>,
    ) -> Result<Vec<(PathBuf, String)>, Error> {
        let target = self.target;
        let has = |webhook| self.webhooks.contains(&webhook);
        let (validating, defaulting) = (has(WebhookType::Validating), has(WebhookType::Defaulting));
        let mut imports: Vec<_> = self
            .webhooks
            .iter()
            .flat_map(|webhook| self.imports(*webhook))
            .copied()
            .collect();
        imports.sort_unstable();
        imports.dedup();
        let mut module = render(&WebhookModule {
            kind: &target.kind,
            path: &target.path,
            is_own: target.is_own(),
            imports: &imports.join(", "),
            validating,
            defaulting,
        })?;
        for webhook in self.webhooks {
            module = module + "\n" + &self.render_code(*webhook)?;
        }
        let test = render(&WebhookTest {
            crate_name: self.crate_name,
            kind: &target.kind,
            path: &target.path.replacen("crate", self.crate_name, 1),
            group: self.group,
            example: &json_text(example),
            is_own: target.is_own(),
            is_scaffold: target.is_scaffold,
            in_cluster,
            validating,
            defaulting,
        })?;
        let paths = [self.module_path(), self.test_path()];
        Ok(paths
            .into_iter()
            .zip(format_rust(context, &[module, test])?)
            .collect())
    }

    fn render_code(&self, webhook: WebhookType) -> Result<String, RenderError> {
        let (kind, is_scaffold) = (&*self.target.kind, self.target.is_scaffold);
        let group = self.group;
        match webhook {
            WebhookType::Validating => render(&WebhookValidator {
                kind,
                group,
                is_scaffold,
            }),
            WebhookType::Defaulting => render(&WebhookDefaulter {
                kind,
                group,
                is_scaffold,
            }),
        }
    }
}

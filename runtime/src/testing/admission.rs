//! [`Harness::admit`]: calls the webhooks of an operator, as the API server does.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use kube::core::Status;
use serde_json::{Value, json};

use super::Harness;
use crate::{
    ApiResource,
    conversion::Converters,
    webhooks::{AdmissionRequest, WebhookBuilder},
};

/// A write that the operator's webhooks admit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Admitted {
    /// The object, as the defaulters left it. Null for a deletion.
    pub object: Value,
    /// The warnings of the webhooks.
    pub warnings: Vec<String>,
}

impl Harness {
    /// Calls the defaulters and then the validators of the object's kind, in the order of registration. The object must have `apiVersion` and
    /// `kind`, as typed objects have. Listers contain the [seeded](Self::seed) objects.
    ///
    /// Returns the status of a denial, without the API server's `admission webhook "…" denied the request`. A webhook that fails returns a
    /// status with code 500, whatever its failure policy is. Selectors and match conditions are not evaluated.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use kubewright::{prelude::*, webhooks::{AdmissionError, AdmissionRequest, Validation, Validator}};
    /// # use serde_json::json;
    /// use kubewright::testing::Harness;
    ///
    /// # struct Immutable;
    /// # impl Validator<ConfigMap> for Immutable {
    /// #     async fn update(&self, _: &ConfigMap, _: &ConfigMap, _: &AdmissionRequest) -> Result<Validation, AdmissionError> {
    /// #         Err(AdmissionError::forbidden("immutable"))
    /// #     }
    /// # }
    /// # fn register(setup: &mut Setup) { setup.validator::<ConfigMap>(Immutable); }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let test = Harness::new(register);
    /// let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}});
    /// test.admit(AdmissionRequest::create(&map)).await.unwrap();
    /// let denied = test.admit(AdmissionRequest::update(&map, &map)).await.unwrap_err();
    /// assert_eq!((denied.code, &*denied.message), (403, "immutable"));
    /// # }
    /// ```
    ///
    /// # Panics
    /// If the operator has no webhook of the kind.
    pub async fn admit(&self, request: AdmissionRequest) -> Result<Admitted, Box<Status>> {
        let webhooks = self.webhooks_of(&request);
        let mut admitted = Admitted {
            object: request.object().cloned().unwrap_or_default(),
            warnings: Vec::new(),
        };
        let mut request = request.of_resource(webhooks[0].kind());
        let converters = self.setup.converters();
        for is_mutating in [true, false] {
            for webhook in webhooks
                .iter()
                .filter(|webhook| webhook.is_mutating() == is_mutating)
            {
                if !webhook.reviews(&request) {
                    continue;
                }
                let is_sensitive = self.setup.is_sensitive(webhook.kind());
                let response = response(webhook, &request, is_sensitive, &converters).await?;
                apply_patch(&response["patch"], &mut admitted.object);
                request.set_object(&admitted.object);
                let warnings = response["warnings"].as_array().into_iter().flatten();
                let warnings = warnings.filter_map(|warning| Some(warning.as_str()?.to_owned()));
                admitted.warnings.extend(warnings);
            }
        }
        Ok(admitted)
    }

    fn webhooks_of(&self, request: &AdmissionRequest) -> Vec<&WebhookBuilder> {
        let object = request.object().or_else(|| request.raw_old_object());
        let object = object.unwrap_or(&Value::Null);
        let (api_version, kind) = (object["apiVersion"].as_str(), object["kind"].as_str());
        let converters = self.setup.converters();
        let is_of = |info: &ApiResource| {
            let is_converted =
                |(group, version): (&str, &str)| group == info.group && converters.converts(version, info);
            Some(&*info.kind) == kind
                && api_version.is_some_and(|api_version| {
                    api_version == info.api_version() || api_version.split_once('/').is_some_and(is_converted)
                })
        };
        let all = self.setup.webhooks().all.iter();
        let webhooks: Vec<_> = all.filter(|webhook| is_of(webhook.kind())).collect();
        assert!(
            !webhooks.is_empty(),
            "the operator has no webhook of apiVersion {api_version:?} and kind {kind:?}"
        );
        webhooks
    }
}

/// Returns the response to a review that allows the write.
async fn response(
    webhook: &WebhookBuilder,
    request: &AdmissionRequest,
    is_sensitive: bool,
    converters: &Converters,
) -> Result<Value, Box<Status>> {
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let review = review.to_string();
    let answered = webhook
        .handler()
        .review(review.as_bytes(), is_sensitive, converters)
        .await;
    let answered = answered.map_err(|failure| {
        let status = Status::failure(&failure.error.to_string(), "InternalError");
        Box::new(status.with_code(500))
    })?;
    let mut review: Value = decoded(&answered.body);
    let response = review["response"].take();
    if response["allowed"] == true {
        return Ok(response);
    }
    Err(Box::new(decoded(response["status"].to_string().as_bytes())))
}

fn apply_patch(patch: &Value, object: &mut Value) {
    let Some(patch) = patch.as_str() else { return };
    let patch = BASE64_STANDARD.decode(patch).unwrap_or_default();
    let patch: json_patch::Patch = decoded(&patch);
    if let Err(error) = json_patch::patch(object, &patch) {
        panic!("the patch of the defaulter does not apply: {error}");
    }
}

/// Decodes what this library has encoded.
fn decoded<T: serde::de::DeserializeOwned>(json: &[u8]) -> T {
    serde_json::from_slice(json).unwrap_or_else(|error| panic!("the answer does not decode: {error}"))
}

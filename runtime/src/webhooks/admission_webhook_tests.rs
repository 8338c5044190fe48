//! Reviews of sensitive kinds: what a panic says is neither answered nor printed.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use prometheus_client::{encoding::text::encode, registry::Registry};
use serde_json::{Value, json};
use tokio::{task::yield_now, time::Duration};

use super::*;
use crate::{
    Kind,
    cache::InformerOptions,
    controller::{FixedArgs, Setup},
    events::Recorder,
    testing::ScriptedApi,
    webhooks::{AdmissionError, AdmissionRequest, Validation, Validator},
};

/// Panics with the value of `password`.
struct Careless;

async fn fail(data: &Value) -> Result<Validation, AdmissionError> {
    // Not in the first poll.
    yield_now().await;
    panic!("no user has the password {}", data["password"])
}

impl Validator<Secret> for Careless {
    async fn create(&self, secret: &Secret, _: &AdmissionRequest) -> Result<Validation, AdmissionError> {
        fail(&json!(secret.string_data)).await
    }
}

impl Validator<ConfigMap> for Careless {
    async fn create(&self, map: &ConfigMap, _: &AdmissionRequest) -> Result<Validation, AdmissionError> {
        fail(&json!(map.data)).await
    }
}

fn setup() -> Setup {
    let connection = ScriptedApi::new().connection();
    let recorder = Recorder::pipeline("shop").0;
    Setup::new("shop", connection, recorder, FixedArgs::new(Vec::<String>::new()))
}

fn webhook(mut setup: Setup) -> (AdmissionWebhook, WebhookMetrics) {
    let informers = setup.informers().clone();
    let webhooks = setup.take_webhooks();
    let [webhook] = &*webhooks.all else {
        panic!("{:?}", webhooks.all)
    };
    let served = AdmissionWebhook {
        path: webhook.path(),
        handler: webhook.handler().clone(),
        converters: Arc::default(),
        fails_closed: false,
        is_sensitive: webhook.is_sensitive,
        synced: None,
        informers,
        metrics: webhooks.metrics.clone(),
    };
    (served, webhooks.metrics)
}

fn creation<K: Kind>(field: &str) -> Bytes {
    let kind = K::info();
    let object = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": "a"}, field: {"password": "hunter2"},
    });
    let request = AdmissionRequest::create(&object).of_resource(&kind);
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    Bytes::from(review.to_string())
}

#[tokio::test]
async fn panics_of_sensitive_kinds_are_hidden() {
    let mut secret = setup();
    secret.validator::<Secret>(Careless);
    let mut marked = setup();
    marked.informers().with::<ConfigMap>(InformerOptions {
        sensitive: true,
        ..InformerOptions::default()
    });
    marked.validator::<ConfigMap>(Careless);
    for (setup, body) in [
        (secret, creation::<Secret>("stringData")),
        (marked, creation::<ConfigMap>("data")),
    ] {
        let (webhook, metrics) = webhook(setup);
        let answered = webhook
            .review(body, Instant::now() + Duration::from_secs(1))
            .await;
        assert_eq!(
            answered,
            Err(WebhookFailure::Failed(
                "the webhook panicked: the message is hidden because the kind is sensitive".to_owned()
            ))
        );
        let (mut registry, mut text) = (Registry::default(), String::new());
        metrics.register(&mut registry);
        encode(&mut text, &registry).unwrap();
        assert!(text.contains(r#"answer="failed"} 1"#), "{text}");
    }
}

/// The panic hook, which prints to stderr, belongs to the process: the test above runs in one of its own.
#[test]
fn panic_of_a_sensitive_kind_is_not_printed() {
    let test = "webhooks::admission_webhook::tests::panics_of_sensitive_kinds_are_hidden";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(
        output.status.success() && printed.contains("1 passed") && !printed.contains("hunter2"),
        "{printed}"
    );
}

#[tokio::test]
#[should_panic(expected = "no user has the password \"hunter2\"")]
async fn panic_of_another_kind_reaches_the_server() {
    let mut setup = setup();
    setup.validator::<ConfigMap>(Careless);
    let (webhook, _) = webhook(setup);
    let deadline = Instant::now() + Duration::from_secs(1);
    let _ = webhook.review(creation::<ConfigMap>("data"), deadline).await;
}

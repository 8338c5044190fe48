//! Slow and panicking conversions.

use std::thread;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::*;
use crate::{
    Convert, CustomResource, Informer,
    cache::RegisteredKind,
    client::OwnerVersions,
    conversion::{RegisteredVersions, Versions},
};

mod v1 {
    use super::*;

    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1", kind = "Slow", namespaced)]
    pub(super) struct SlowSpec {
        pub(super) millis: u64,
    }
}

mod v1alpha1 {
    use super::*;

    #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1alpha1", kind = "Slow", namespaced)]
    #[convert(crate = crate, hub = v1::SlowSpec)]
    pub(super) struct SlowSpec {
        #[convert(with = blocking)]
        millis: u64,
    }

    mod blocking {
        /// Blocks its thread, as code without `await` does.
        pub(super) fn to_hub(millis: u64) -> u64 {
            assert_ne!(millis, 666, "no such time");
            super::thread::sleep(super::Duration::from_millis(millis));
            millis
        }

        pub(super) fn from_hub(millis: u64) -> u64 {
            millis
        }
    }
}

fn webhook() -> ConversionWebhook {
    let (mut registered, mut kinds) = (RegisteredVersions::of::<v1::Slow>(), Vec::<RegisteredKind>::new());
    Versions::<v1::Slow>::new(&mut registered, &mut kinds, OwnerVersions::default())
        .other::<v1alpha1::Slow>();
    ConversionWebhook(Arc::new(Converters::new([registered.converter])))
}

fn review(version: &str, millis: &[u64]) -> Bytes {
    let object = |(index, millis)| {
        let metadata = json!({"name": format!("slow-{index}")});
        json!({"apiVersion": "demo.dev/v1alpha1", "kind": "Slow", "metadata": metadata, "spec": {"millis": millis}})
    };
    let objects: Vec<Value> = millis.iter().enumerate().map(object).collect();
    let request = json!({"uid": "1", "desiredAPIVersion": format!("demo.dev/{version}"), "objects": objects});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request})
        .to_string()
        .into()
}

async fn result(webhook: &ConversionWebhook, millis: &[u64], deadline: Duration) -> Value {
    let answered = webhook
        .review(review("v1", millis), Instant::now() + deadline)
        .await;
    let mut answer: Value = serde_json::from_slice(&answered.unwrap()).unwrap();
    answer["response"]["result"].take()
}

#[tokio::test]
async fn slow_or_panicking_conversion_harms_only_its_own_review() {
    let webhook = webhook();
    let deadline = Duration::from_secs(2);
    let slow = result(&webhook, &[1500, 1500, 1500], deadline);
    let others = async {
        let panicked = result(&webhook, &[0, 666], deadline).await;
        let reason =
            "converting Slow slow-1 (demo.dev/v1alpha1) to demo.dev/v1 failed: the conversion panicked: ";
        assert!(
            panicked["message"].as_str().unwrap().starts_with(reason),
            "{panicked}"
        );
        assert_eq!(
            result(&webhook, &[0, 0], deadline).await,
            json!({"status": "Success"})
        );
    };
    // Long before the slow one ends, in whose time one thread could not convert anything else.
    let (slow, others) = tokio::join!(slow, timeout(Duration::from_secs(1), others));
    others.unwrap();
    let message = slow["message"].as_str().unwrap();
    assert!(
        message.starts_with("2 of 3 objects were converted in 3")
            && message.ends_with("slow-2 (demo.dev/v1alpha1)"),
        "{message}"
    );
}

#[tokio::test]
async fn unknown_version_may_be_of_another_release() {
    let answered = webhook()
        .review(review("v2", &[0]), Instant::now() + TIMEOUT)
        .await;
    let Err(WebhookFailure::UnknownVersion(reason)) = answered else {
        panic!("{answered:?}");
    };
    assert!(
        reason.ends_with("Slow has no version \"v2\": the versions are v1, v1alpha1"),
        "{reason}"
    );
}

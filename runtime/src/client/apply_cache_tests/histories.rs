//! Random histories of an operator and everybody else, with and without skipped applies: the objects must end the same.
//!
//! What others write differs from what the operator wants, and the operator has settled before it wants something else. Otherwise the end
//! would depend on the moment of a reconcile, whether applies are skipped or not.

use std::sync::Arc;

use kube::core::params::DeleteParams;
use proptest::{collection::vec, prelude::*};
use serde_json::json;
use tokio::time::{Duration, advance};

use super::model_server::{Content, Failure, Fields, ModelServer, Widget, widget_name};
use crate::client::{All, ApplyOptions, PatchBody, TypedClient};
use crate::test_effort::property_cases;

/// The schema knows this field only after the upgrade of the CustomResourceDefinition.
const NEW_FIELD: &str = "new";

#[derive(Debug, Clone)]
enum Step {
    Reconcile,
    AdvanceCache(usize),
    /// The operator wants another value of a field, or none.
    ChangeIntent(&'static str, Option<u8>),
    /// The operator wants a field patched to another value.
    ChangePatch(u8),
    ForeignEdit(&'static str, u8),
    ForeignStatusEdit(u8),
    ForeignApply(u8),
    ForeignDelete,
    Recreate(u8),
    OwnDelete,
    Fail(Failure),
    Restart,
    UpgradeDefinition,
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let owned = || prop::sample::select(vec!["a", "b", "unforced", NEW_FIELD]);
    let edited = prop::sample::select(vec!["a", "b", "unforced", NEW_FIELD, "foreign"]);
    let step = prop_oneof![
        12 => Just(Step::Reconcile),
        6 => (1..4_usize).prop_map(Step::AdvanceCache),
        3 => (owned(), prop::option::of(0..3_u8)).prop_map(|(field, value)| Step::ChangeIntent(field, value)),
        1 => (0..3_u8).prop_map(Step::ChangePatch),
        3 => (edited, 0..3_u8).prop_map(|(field, value)| Step::ForeignEdit(field, value)),
        1 => (0..3_u8).prop_map(Step::ForeignStatusEdit),
        2 => (0..3_u8).prop_map(Step::ForeignApply),
        1 => Just(Step::ForeignDelete),
        1 => (0..3_u8).prop_map(Step::Recreate),
        1 => Just(Step::OwnDelete),
        1 => prop::sample::select(vec![Failure::Refused, Failure::AnswerLost]).prop_map(Step::Fail),
        1 => Just(Step::Restart),
        1 => Just(Step::UpgradeDefinition),
        1 => prop::sample::select(vec![1, 300, 600]).prop_map(Step::Wait),
    ];
    vec(step, 1..60)
}

struct History {
    server: ModelServer,
    ttl: Duration,
    client: TypedClient<Widget, All>,
    skipped: u64,
    forced: Fields,
    unforced: Fields,
    patched: String,
}

impl History {
    fn new(ttl: Duration) -> Self {
        let server = ModelServer::new();
        server.set_unknown_field(NEW_FIELD);
        let field = |name: &str| (name.to_owned(), "0".to_owned());
        Self {
            client: Self::start(&server, ttl),
            server,
            ttl,
            skipped: 0,
            forced: [field("a"), field(NEW_FIELD)].into(),
            unforced: [field("unforced")].into(),
            patched: "0".to_owned(),
        }
    }

    /// The client of an operator that was started just now.
    fn start(server: &ModelServer, ttl: Duration) -> TypedClient<Widget, All> {
        let connection = server.connection().with_cached_objects(Arc::new(server.clone()));
        connection.apply_cache().unwrap().set_ttl(ttl);
        TypedClient::new(connection)
    }

    fn restart(&mut self) {
        self.skipped += self.client.connection.apply_cache().unwrap().skipped().get();
        self.client = Self::start(&self.server, self.ttl);
    }

    /// Drives the object towards what the operator wants. What fails is tried again by the next one.
    async fn reconcile(&self) {
        let object = |section: &str, fields: &Fields| json!({"metadata": {"name": "a", "namespace": "shop"}, section: fields});
        let _ = self.client.apply(&object("spec", &self.forced)).await;
        let second = ApplyOptions::new().field_manager("op-2").without_force();
        let unforced = object("spec", &self.unforced);
        let _ = self.client.apply_with(&unforced, &second).await;
        if self.server.cached_spec("patched").as_ref() != Some(&self.patched) {
            let patch = PatchBody::Merge(json!({"spec": {"patched": self.patched}}));
            let _ = self.client.patch(&widget_name(), &patch).await;
        }
        let status = [("ready".to_owned(), "yes".to_owned())].into();
        let _ = self.client.apply_status(&object("status", &status)).await;
    }

    async fn settle(&self) {
        for _ in 0..4 {
            self.server.sync_cache();
            self.reconcile().await;
        }
    }

    async fn take(&mut self, step: &Step) {
        let foreign = |value: &u8| format!("foreign-{value}");
        match step {
            Step::Reconcile => self.reconcile().await,
            Step::AdvanceCache(states) => self.server.advance_cache(*states),
            Step::ChangeIntent(field, value) => {
                self.settle().await;
                let intent = match *field {
                    "unforced" => &mut self.unforced,
                    _ => &mut self.forced,
                };
                match value {
                    Some(value) => intent.insert((*field).to_owned(), value.to_string()),
                    None => intent.remove(*field),
                };
            }
            Step::ChangePatch(value) => {
                self.settle().await;
                self.patched = value.to_string();
            }
            Step::ForeignEdit(field, value) => self.server.edit("spec", field, &foreign(value)),
            Step::ForeignStatusEdit(value) => self.server.edit("status", "ready", &foreign(value)),
            Step::ForeignApply(value) => {
                let intent = ["a", "helm"].map(|field| (field.to_owned(), foreign(value)));
                self.server.apply_as("helm", &intent.into());
            }
            Step::ForeignDelete => self.server.delete(),
            Step::Recreate(value) => {
                self.server.delete();
                self.server.edit("spec", "a", &foreign(value));
            }
            Step::OwnDelete => {
                let _ = self.client.delete(&widget_name(), &DeleteParams::default()).await;
            }
            Step::Fail(failure) => self.server.fail_next_patch(*failure),
            Step::Restart => self.restart(),
            Step::UpgradeDefinition => self.server.learn_all_fields(),
            Step::Wait(seconds) => advance(Duration::from_secs(*seconds)).await,
        }
    }
}

/// The object at the end, how many requests were sent, and how many applies were skipped.
fn run(steps: &[Step], ttl: Duration) -> (Option<Content>, u32, u64) {
    let clock = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    clock.block_on(async {
        let mut history = History::new(ttl);
        for step in steps {
            history.take(step).await;
        }
        history.settle().await;
        history.restart();
        (
            history.server.content(),
            history.server.take_requests(),
            history.skipped,
        )
    })
}

proptest! {
    #![proptest_config(property_cases(32))]

    #[test]
    fn objects_end_the_same_with_and_without_skipped_applies(steps in steps()) {
        let (with, sent_with, skipped) = run(&steps, super::DEFAULT_APPLY_CACHE_TTL);
        let (without, sent_without, never) = run(&steps, Duration::ZERO);
        prop_assert_eq!(with, without);
        prop_assert_eq!(never, 0);
        prop_assert!(skipped > 0, "the end is settled: its last reconcile changes nothing");
        prop_assert!(sent_with < sent_without);
    }
}

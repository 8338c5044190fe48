//! The coalescing queue against a simple model, and the warnings of registrations.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use proptest::prelude::*;
use serde_json::json;

use super::{
    Listener, Registrations, coalescing_queue::CoalescingQueue, pending_notifications::Notification,
};
use crate::{
    Kind as _,
    cache::{HandlerOptions, object::StoredObject, scan::Scanner, store::StoreEvent},
    test_effort::property_cases,
};

/// Counts the warnings that this thread logs while the guard lives.
pub(super) fn count_warnings() -> (impl Fn() -> usize, tracing::subscriber::DefaultGuard) {
    let count = Arc::new(AtomicUsize::new(0));
    let guard = tracing::subscriber::set_default(WarningCounter(count.clone()));
    (move || count.load(Ordering::Relaxed), guard)
}

struct WarningCounter(Arc<AtomicUsize>);

impl tracing::Subscriber for WarningCounter {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }
    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

/// client-go: TestAddOnStoppedSharedInformer, where it is an error.
#[tokio::test]
async fn handler_added_after_the_stop_is_warned_about_and_has_ended() {
    let registrations: Arc<Registrations> = Arc::default();
    let add = |options| registrations.add(Listener::Sink(Box::new(|_| {})), options, "a sink".into());
    let (warnings, _guard) = count_warnings();
    let early = add(HandlerOptions::default());
    assert_eq!(warnings(), 0);
    // A resync period below the minimum.
    add(HandlerOptions::default().resync(Duration::from_millis(1)));
    assert_eq!(warnings(), 1);
    registrations.stop();
    early.ended().await;
    assert_eq!(warnings(), 1);
    add(HandlerOptions::default()).ended().await;
    assert_eq!(warnings(), 2);
}

#[derive(Debug, Clone)]
enum QueueOperation {
    Put(u8),
    Delete(u8),
    Resync(u8),
    Synced,
    Pop,
}

fn operation() -> impl Strategy<Value = QueueOperation> {
    let key = 0u8..4;
    prop_oneof![
        5 => key.clone().prop_map(QueueOperation::Put),
        3 => key.clone().prop_map(QueueOperation::Delete),
        1 => key.prop_map(QueueOperation::Resync),
        1 => Just(QueueOperation::Synced),
        4 => Just(QueueOperation::Pop),
    ]
}

/// A notification in the model; resource versions stand for objects.
#[derive(Debug, Clone, PartialEq)]
enum ModelNotification {
    Added(String, u32, bool),
    Updated(String, u32, u32),
    Deleted(String, u32),
    Synced,
}

impl ModelNotification {
    fn key(&self) -> Option<&str> {
        match self {
            Self::Added(key, ..) | Self::Updated(key, ..) | Self::Deleted(key, _) => Some(key),
            Self::Synced => None,
        }
    }

    fn of(notification: Notification) -> Self {
        let Notification::Changed {
            change,
            is_in_initial_list,
        } = notification
        else {
            return Self::Synced;
        };
        let key = change.name().to_string();
        let version = |object: &StoredObject| object.metadata.resource_version().parse().unwrap();
        match change {
            StoreEvent::Added(new) => Self::Added(key, version(&new), is_in_initial_list),
            StoreEvent::Updated { old, new } => Self::Updated(key, version(&old), version(&new)),
            StoreEvent::Deleted { old, .. } => Self::Deleted(key, version(&old)),
        }
    }
}

/// The rules of coalescing, implemented on a list.
fn push(pending: &mut Vec<ModelNotification>, notification: ModelNotification) {
    let last = pending
        .iter()
        .rposition(|pending| notification.key().is_some() && pending.key() == notification.key());
    match last.map(|position| (position, pending[position].clone(), notification.clone())) {
        Some((
            position,
            ModelNotification::Added(key, _, initial),
            ModelNotification::Updated(_, _, new),
        )) => {
            pending[position] = ModelNotification::Added(key, new, initial);
        }
        Some((position, ModelNotification::Added(..), ModelNotification::Deleted(..))) => {
            pending.remove(position);
        }
        Some((position, ModelNotification::Updated(key, old, _), ModelNotification::Updated(_, _, new))) => {
            pending[position] = ModelNotification::Updated(key, old, new);
        }
        Some((position, ModelNotification::Updated(..), ModelNotification::Deleted(..))) => {
            pending[position] = notification;
        }
        _ => pending.push(notification),
    }
}

/// Applies a notification to a handler's view; fails if it does not fit the one before.
fn apply(view: &mut BTreeMap<String, u32>, notification: &ModelNotification) -> Result<(), TestCaseError> {
    match notification {
        ModelNotification::Added(key, new, _) => prop_assert_eq!(view.insert(key.clone(), *new), None),
        ModelNotification::Updated(key, old, new) => {
            prop_assert_eq!(view.insert(key.clone(), *new), Some(*old));
        }
        ModelNotification::Deleted(key, _) => prop_assert!(view.remove(key).is_some()),
        ModelNotification::Synced => {}
    }
    Ok(())
}

fn run(operations: Vec<QueueOperation>) -> Result<(), TestCaseError> {
    let mut scanner = Scanner::new(&k8s_openapi::api::core::v1::Node::info());
    let mut stored = |key: u8, version: u32| {
        let json = json!({"metadata": {"name": format!("o{key}"), "resourceVersion": version.to_string()}});
        Arc::new(scanner.object(json.to_string().as_bytes(), &[]).unwrap())
    };
    let mut expected: BTreeMap<u8, Arc<StoredObject>> = BTreeMap::new();
    let (mut queue, mut model, mut view) = (CoalescingQueue::default(), Vec::new(), BTreeMap::new());
    let (mut version, mut markers, mut is_in_initial_list) = (0, 0, true);
    for operation in operations {
        version += 1;
        let change = match operation {
            QueueOperation::Put(key) => {
                let new = stored(key, version);
                Some(match expected.insert(key, new.clone()) {
                    Some(old) => StoreEvent::Updated { old, new },
                    None => StoreEvent::Added(new),
                })
            }
            QueueOperation::Delete(key) => expected.remove(&key).map(|_| StoreEvent::Deleted {
                old: stored(key, version),
                final_state_known: true,
            }),
            QueueOperation::Resync(key) => expected.get(&key).map(|known| StoreEvent::Updated {
                old: known.clone(),
                new: known.clone(),
            }),
            QueueOperation::Synced => {
                is_in_initial_list = false;
                markers += 1;
                queue.push(Notification::Synced);
                push(&mut model, ModelNotification::Synced);
                None
            }
            QueueOperation::Pop => {
                let notification = queue.pop().map(ModelNotification::of);
                let expected = (!model.is_empty()).then(|| model.remove(0));
                prop_assert_eq!(&notification, &expected);
                if let Some(notification) = notification {
                    apply(&mut view, &notification)?;
                }
                None
            }
        };
        if let Some(change) = change {
            let notification = Notification::Changed {
                change,
                is_in_initial_list,
            };
            queue.push(notification.clone());
            push(&mut model, ModelNotification::of(notification));
        }
        prop_assert_eq!(queue.len(), model.len());
        prop_assert!(queue.len() <= 2 * 4 + markers);
    }
    while let Some(notification) = queue.pop() {
        let notification = ModelNotification::of(notification);
        prop_assert_eq!(&notification, &model.remove(0));
        apply(&mut view, &notification)?;
    }
    let version = |object: &Arc<StoredObject>| object.metadata.resource_version().parse::<u32>().unwrap();
    let expected: BTreeMap<String, u32> = expected
        .values()
        .map(|object| (object.metadata.name().to_string(), version(object)))
        .collect();
    prop_assert_eq!(view, expected);
    Ok(())
}

proptest! {
    #![proptest_config(property_cases(300))]

    #[test]
    fn coalesced_notifications_are_consistent_and_end_in_the_last_state(operations in prop::collection::vec(operation(), 1..80)) {
        run(operations)?;
    }
}

//! Invalid objects, about which a controller can do nothing: each is logged once for its generation and reason, and counted.

use std::{collections::HashMap, fmt, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewright::{
    NamespacedName,
    cache::Metadata,
    prometheus_client::{
        metrics::{counter::Counter, family::Family},
        registry::Registry,
    },
};
use parking_lot::Mutex;

use super::metrics::Labels;

/// Objects that are remembered. When there are more, all are forgotten, and may be reported again.
const MAX_OBJECTS: usize = 10_000;

/// The reports of all controllers. Cloning copies pointers.
#[derive(Clone, Debug, Default)]
pub(crate) struct InvalidObjects {
    counts: Family<Labels, Counter>,
    /// The reported generation, by controller, reason and uid.
    reported: Arc<Mutex<Reported>>,
}

type Reported = HashMap<(&'static str, &'static str, Box<str>), Option<i64>>;

/// An object, as a controller reports it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InvalidObject<'a> {
    pub(crate) kind: &'a str,
    pub(crate) name: &'a NamespacedName,
    pub(crate) uid: &'a str,
    pub(crate) generation: Option<i64>,
}

impl<'a> InvalidObject<'a> {
    pub(crate) fn of(kind: &'a str, metadata: &'a Metadata) -> Self {
        Self {
            kind,
            name: metadata.name(),
            uid: metadata.uid(),
            generation: metadata.generation(),
        }
    }

    pub(crate) fn decoded(kind: &'a str, name: &'a NamespacedName, metadata: &'a ObjectMeta) -> Self {
        Self {
            kind,
            name,
            uid: metadata.uid.as_deref().unwrap_or_default(),
            generation: metadata.generation,
        }
    }
}

impl InvalidObjects {
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let objects = Self::default();
        registry.register(
            "controllers_invalid_objects",
            "Invalid objects, each once for a generation and reason, by controller and reason",
            objects.counts.clone(),
        );
        objects
    }

    /// Logs and counts an object, unless this generation of it was reported before for this reason.
    pub(crate) fn report(
        &self,
        controller: &'static str,
        object: InvalidObject<'_>,
        reason: &'static str,
        why: &dyn fmt::Display,
    ) {
        let mut reported = self.reported.lock();
        if reported.len() >= MAX_OBJECTS {
            reported.clear();
        }
        let known = reported.insert((controller, reason, object.uid.into()), object.generation);
        drop(reported);
        if known == Some(object.generation) {
            return;
        }
        let InvalidObject { kind, name, .. } = object;
        tracing::warn!(controller, kind, %name, reason, "the object is invalid: {why}");
        self.count(controller, reason).inc();
    }

    /// Returns the count of a controller's objects that are invalid for this reason.
    pub(crate) fn count(&self, controller: &str, reason: &str) -> Counter {
        let labels = vec![
            ("controller", controller.to_owned()),
            ("reason", reason.to_owned()),
        ];
        self.counts.get_or_create_owned(&labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_is_counted_once_for_each_generation_reason_and_controller() {
        let (objects, name) = (
            InvalidObjects::default(),
            NamespacedName::namespaced("shop", "web"),
        );
        let report_for = |reason: &'static str, controller: &'static str, uid: &str, generation: i64| {
            let object = InvalidObject {
                kind: "Foo",
                name: &name,
                uid,
                generation: Some(generation),
            };
            objects.report(controller, object, reason, &"why");
        };
        let report =
            |controller, uid: &str, generation| report_for("EmptySelector", controller, uid, generation);
        for (controller, uid, generation) in [
            ("a", "1", 1),
            ("a", "1", 1),
            ("b", "1", 1),
            ("a", "1", 2),
            ("a", "2", 1),
        ] {
            report(controller, uid, generation);
        }
        let count = |controller| objects.count(controller, "EmptySelector").get();
        assert_eq!((count("a"), count("b")), (3, 1));
        for reason in ["OverlappingSelector", "EmptySelector", "OverlappingSelector"] {
            report_for(reason, "b", "1", 1);
        }
        assert_eq!(count("b"), 1);
        assert_eq!(objects.count("b", "OverlappingSelector").get(), 1);
        for uid in 0..2 * MAX_OBJECTS {
            report("a", &uid.to_string(), 3);
        }
        assert!(objects.reported.lock().len() <= MAX_OBJECTS);
    }
}

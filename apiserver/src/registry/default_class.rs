//! Default classes: admission plugins DefaultStorageClass and DefaultIngressClass.

use super::Registry;
use crate::kinds::Kind;
use crate::meta;
use serde_json::Value;

/// Where a kind names its class, and how the default class is marked.
struct DefaultClassRule {
    field: &'static str,
    /// A legacy annotation that names the class instead of the field.
    annotation: &'static str,
    /// The resource of the classes, and the annotations that mark the default class.
    group: &'static str,
    classes: &'static str,
    default_annotations: &'static [&'static str],
}

const STORAGE_CLASS: DefaultClassRule = DefaultClassRule {
    field: "storageClassName",
    annotation: "volume.beta.kubernetes.io/storage-class",
    group: "storage.k8s.io",
    classes: "storageclasses",
    default_annotations: &[
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ],
};
const INGRESS_CLASS: DefaultClassRule = DefaultClassRule {
    field: "ingressClassName",
    annotation: "kubernetes.io/ingress.class",
    group: "networking.k8s.io",
    classes: "ingressclasses",
    default_annotations: &["ingressclass.kubernetes.io/is-default-class"],
};

impl Registry {
    /// Sets the default class in a new object that names none.
    pub(super) fn set_default_class(&self, kind: &Kind, object: &mut Value) {
        let rule = match (kind.group.as_str(), kind.kind.as_str()) {
            ("", "PersistentVolumeClaim") => STORAGE_CLASS,
            ("networking.k8s.io", "Ingress") => INGRESS_CLASS,
            _ => return,
        };
        let annotated = object["metadata"]["annotations"].get(rule.annotation);
        if annotated.is_some() || !object["spec"][rule.field].is_null() {
            return;
        }
        if let Some(class) = self.default_class(&rule) {
            meta::entry_mut(object, "spec").insert(rule.field.to_owned(), class.into());
        }
    }

    /// Returns the name of the newest default class; of several with the same age, the first by name.
    fn default_class(&self, rule: &DefaultClassRule) -> Option<String> {
        let classes = self.resource(rule.group, rule.classes).ok()?;
        let objects = self.store.list(&classes.table(), "", "", None).ok()?.objects;
        let is_default = |class: &Value| {
            let annotations = &class["metadata"]["annotations"];
            rule.default_annotations
                .iter()
                .any(|annotation| annotations[*annotation] == "true")
        };
        let defaults = objects
            .iter()
            .map(|object| object.value())
            .filter(|class| is_default(class));
        let newest = defaults.min_by_key(|class| {
            let created = class["metadata"]["creationTimestamp"]
                .as_str()
                .unwrap_or_default();
            (
                std::cmp::Reverse(created.to_owned()),
                meta::name(class).to_owned(),
            )
        });
        newest.map(|class| meta::name(class).to_owned())
    }
}

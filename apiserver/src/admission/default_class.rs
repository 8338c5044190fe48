//! What DefaultStorageClass and DefaultIngressClass share: a new object that names no class gets the default one.

use super::Attributes;
use crate::meta;
use serde_json::Value;

/// Where a kind names its class, and how the default class is marked.
pub(super) struct DefaultClassRule {
    pub(super) field: &'static str,
    /// A legacy annotation that names the class instead of the field.
    pub(super) annotation: &'static str,
    /// The resource of the classes, and the annotations that mark the default class.
    pub(super) group: &'static str,
    pub(super) classes: &'static str,
    pub(super) default_annotations: &'static [&'static str],
}

impl DefaultClassRule {
    /// Sets the default class in an object that names none.
    pub(super) fn apply(&self, attributes: &Attributes<'_>, object: &mut Value) {
        let annotated = object["metadata"]["annotations"].get(self.annotation);
        if annotated.is_some() || !object["spec"][self.field].is_null() {
            return;
        }
        if let Some(class) = self.default_class(attributes) {
            meta::entry_mut(object, "spec").insert(self.field.to_owned(), class.into());
        }
    }

    /// Returns the name of the newest default class; of several with the same age, the first by name.
    fn default_class(&self, attributes: &Attributes<'_>) -> Option<String> {
        let objects = attributes.list(self.group, self.classes, "");
        let is_default = |class: &Value| {
            let annotations = &class["metadata"]["annotations"];
            self.default_annotations
                .iter()
                .any(|annotation| annotations[*annotation] == "true")
        };
        let defaults = objects
            .iter()
            .map(|object| object.value())
            .filter(|class| is_default(class));
        let newest = defaults.min_by_key(|class| {
            let created = meta::text(&class["metadata"], "creationTimestamp");
            (
                std::cmp::Reverse(created.to_owned()),
                meta::name(class).to_owned(),
            )
        });
        newest.map(|class| meta::name(class).to_owned())
    }
}

//! Classes that are meant where none is named: of claims, and of ingresses.

use super::Registry;
use crate::kinds::Kind;
use crate::meta;
use serde_json::Value;

/// Where a kind names its class, and which class is meant where it does not.
struct Naming {
    field: &'static str,
    /// Said here, it need not be said there.
    annotation: &'static str,
    /// The classes, and the annotations that mark the one that is meant.
    group: &'static str,
    classes: &'static str,
    marks: &'static [&'static str],
}

const CLAIMS: Naming = Naming {
    field: "storageClassName",
    annotation: "volume.beta.kubernetes.io/storage-class",
    group: "storage.k8s.io",
    classes: "storageclasses",
    marks: &[
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ],
};
const INGRESSES: Naming = Naming {
    field: "ingressClassName",
    annotation: "kubernetes.io/ingress.class",
    group: "networking.k8s.io",
    classes: "ingressclasses",
    marks: &["ingressclass.kubernetes.io/is-default-class"],
};

impl Registry {
    /// What admission makes of a new object that names no class, though one could be meant.
    pub(super) fn admit_class(&self, kind: &Kind, object: &mut Value) {
        let naming = match (kind.group.as_str(), kind.kind.as_str()) {
            ("", "PersistentVolumeClaim") => CLAIMS,
            ("networking.k8s.io", "Ingress") => INGRESSES,
            _ => return,
        };
        let annotated = object["metadata"]["annotations"].get(naming.annotation);
        if annotated.is_some() || !object["spec"][naming.field].is_null() {
            return;
        }
        if let Some(class) = self.meant(&naming) {
            meta::entry_mut(object, "spec").insert(naming.field.to_owned(), class.into());
        }
    }

    /// The newest class that is marked; of several, the first by its name.
    fn meant(&self, naming: &Naming) -> Option<String> {
        let classes = self.resource(naming.group, naming.classes).ok()?;
        let objects = self.store.list(&classes.table(), "", "", None).ok()?.objects;
        let is_marked = |class: &Value| {
            let annotations = &class["metadata"]["annotations"];
            naming.marks.iter().any(|mark| annotations[*mark] == "true")
        };
        let marked = objects
            .iter()
            .map(|object| object.value())
            .filter(|class| is_marked(class));
        let newest = marked.min_by_key(|class| {
            let made = class["metadata"]["creationTimestamp"]
                .as_str()
                .unwrap_or_default();
            (std::cmp::Reverse(made.to_owned()), meta::name(class).to_owned())
        });
        newest.map(|class| meta::name(class).to_owned())
    }
}

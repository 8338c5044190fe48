//! DefaultStorageClass.

use super::Attributes;
use super::default_class::DefaultClassRule;
use serde_json::Value;

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

pub(super) fn mutate(attributes: &Attributes<'_>, claim: &mut Value) {
    if attributes.creates("", "PersistentVolumeClaim") {
        STORAGE_CLASS.apply(attributes, claim);
    }
}

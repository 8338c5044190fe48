//! StorageObjectInUseProtection: volumes and claims get a finalizer, which is removed when they are not in use.

use super::Attributes;
use crate::meta;
use serde_json::Value;

pub(super) fn mutate(attributes: &Attributes<'_>, object: &mut Value) {
    if attributes.creates("", "PersistentVolumeClaim") {
        meta::add_finalizer(object, "kubernetes.io/pvc-protection");
    } else if attributes.creates("", "PersistentVolume") {
        meta::add_finalizer(object, "kubernetes.io/pv-protection");
    }
}

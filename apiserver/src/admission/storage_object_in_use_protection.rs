//! StorageObjectInUseProtection: volumes, claims and volume attributes classes get a finalizer, which is removed when they are not in use.

use super::Attributes;
use crate::meta;
use serde_json::Value;

pub(super) fn mutate(attributes: &Attributes<'_>, object: &mut Value) {
    if attributes.creates("", "PersistentVolumeClaim") {
        meta::add_finalizer(object, "kubernetes.io/pvc-protection");
    } else if attributes.creates("", "PersistentVolume") {
        meta::add_finalizer(object, "kubernetes.io/pv-protection");
    } else if attributes.creates("storage.k8s.io", "VolumeAttributesClass") {
        meta::add_finalizer(object, "kubernetes.io/vac-protection");
    }
}

//! The fields of the objects that expressions see with their types: `request`, `namespaceObject` and `device`.

use super::checker::{STRING, Type};

/// The fields of objects: the name of a field, and that of its type.
#[rustfmt::skip]
const OBJECTS: &[(&str, &[(&str, &str)])] = &[
    ("kubernetes.AdmissionRequest", &[
        ("kind", "kubernetes.GroupVersionKind"), ("resource", "kubernetes.GroupVersionResource"), ("subResource", "string"),
        ("requestKind", "kubernetes.GroupVersionKind"), ("requestResource", "kubernetes.GroupVersionResource"),
        ("requestSubResource", "string"), ("name", "string"), ("namespace", "string"), ("operation", "string"),
        ("userInfo", "kubernetes.UserInfo"), ("dryRun", "bool"), ("options", "dyn"),
    ]),
    ("kubernetes.DRADevice", &[
        ("driver", "string"), ("allowMultipleAllocations", "bool"), ("attributes", "attributes"), ("capacity", "capacity"),
    ]),
    ("kubernetes.GroupVersionKind", &[("group", "string"), ("version", "string"), ("kind", "string")]),
    ("kubernetes.GroupVersionResource", &[("group", "string"), ("version", "string"), ("resource", "string")]),
    ("kubernetes.UserInfo", &[
        ("username", "string"), ("uid", "string"), ("groups", "strings"), ("extra", "extra"),
    ]),
    ("kubernetes.Namespace", &[
        ("metadata", "kubernetes.NamespaceMetadata"), ("spec", "kubernetes.NamespaceSpec"), ("status", "kubernetes.NamespaceStatus"),
    ]),
    ("kubernetes.NamespaceMetadata", &[
        ("name", "string"), ("generateName", "string"), ("namespace", "string"), ("labels", "labels"), ("annotations", "labels"),
        ("UID", "string"), ("creationTimestamp", "google.protobuf.Timestamp"), ("deletionGracePeriodSeconds", "int"),
        ("deletionTimestamp", "google.protobuf.Timestamp"), ("generation", "int"), ("resourceVersion", "string"),
        ("finalizers", "strings"),
    ]),
    ("kubernetes.NamespaceSpec", &[("finalizers", "strings")]),
    ("kubernetes.NamespaceStatus", &[("conditions", "conditions"), ("phase", "string")]),
    ("kubernetes.NamespaceCondition", &[
        ("status", "string"), ("type", "string"), ("lastTransitionTime", "google.protobuf.Timestamp"), ("message", "string"),
        ("reason", "string"),
    ]),
];

/// Returns the type of a field of an object; None if there is no such field.
pub(super) fn field(object: &str, field: &str) -> Option<Type> {
    let fields = OBJECTS.iter().find(|(name, _)| *name == object)?.1;
    let (_, ty) = fields.iter().find(|(name, _)| *name == field)?;
    // By domain, then by name.
    let qualified = |ty| Type::map(STRING, Type::map(STRING, ty));
    Some(match *ty {
        "dyn" => Type::Dyn,
        "strings" => Type::list(STRING),
        "labels" => Type::map(STRING, STRING),
        "attributes" => qualified(Type::Any),
        "capacity" => qualified(Type::Simple("kubernetes.Quantity")),
        "extra" => Type::map(STRING, Type::list(STRING)),
        "conditions" => Type::list(Type::Object("kubernetes.NamespaceCondition")),
        name if OBJECTS.iter().any(|(object, _)| *object == name) => Type::Object(name),
        name => Type::Simple(name),
    })
}

//! The fields of the objects that expressions see with their types: `request`, `namespaceObject` and `device`.

use super::checker::Type;

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
    let string = || Box::new(Type::Simple("string"));
    // By domain, then by name.
    let qualified = |ty| Type::Map(string(), Box::new(Type::Map(string(), Box::new(ty))));
    Some(match *ty {
        "dyn" => Type::Dyn,
        "strings" => Type::List(string()),
        "labels" => Type::Map(string(), string()),
        "attributes" => qualified(Type::Any),
        "capacity" => qualified(Type::Simple("kubernetes.Quantity")),
        "extra" => Type::Map(string(), Box::new(Type::List(string()))),
        "conditions" => Type::List(Box::new(Type::Object("kubernetes.NamespaceCondition"))),
        name if OBJECTS.iter().any(|(object, _)| *object == name) => Type::Object(name),
        name => Type::Simple(name),
    })
}

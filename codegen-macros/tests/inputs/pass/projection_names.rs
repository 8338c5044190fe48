//! Names that the generated code also uses; kubewright under another name; a struct from a `macro_rules!` macro.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

extern crate kubewright as renamed;

use renamed::{Kind, k8s_openapi::api::core::v1::{ConfigMap, Service}, serde_json};

mod shown {
    use super::ConfigMap;
    use renamed::serde;

    #[allow(dead_code)]
    pub(crate) trait Deserialize {}
    #[allow(dead_code)]
    pub(crate) struct Slots;
    #[allow(dead_code)]
    pub(crate) struct Node;
    #[allow(dead_code)]
    pub(crate) enum Result {}

    #[derive(renamed::Projection)]
    #[projection(of = ConfigMap, crate = renamed)]
    pub(crate) struct D {
        #[projection(path = "kind")]
        pub(super) r#type: String,
        #[projection(path = "data.slots")]
        pub(super) slots: Option<String>,
        #[projection(path = "data.value")]
        pub(super) value: E,
        #[projection(path = "data.list[*]")]
        pub(super) slot: std::vec::Vec<core::option::Option<E>>,
        #[projection(path = "data['ä \" \\ ]']")]
        pub(super) object: std::option::Option<E>,
    }

    #[derive(serde::Deserialize, PartialEq, Debug)]
    #[serde(crate = "renamed::serde")]
    pub(crate) struct E(pub(crate) u8);
}

macro_rules! projection {
    ($name:ident, $field:ident: $ty:ty, $path:literal) => {
        #[derive(renamed::Projection)]
        #[projection(of = Service, crate = renamed)]
        struct $name {
            #[projection(path = $path)]
            $field: $ty,
            #[projection(path = "spec.ports[*].port")]
            made: Vec<u16>,
        }
    };
}

projection!(Ports, targets: Vec<Option<u16>>, "spec.ports[*].targetPort");

fn main() {
    let json = r#"{"kind": "ConfigMap", "data": {"slots": "1", "value": 2, "list": [3, null], "ä \" \\ ]": 4}}"#;
    let shown: shown::D = serde_json::from_str(json).unwrap();
    assert_eq!((&*shown.r#type, shown.slots.as_deref()), ("ConfigMap", Some("1")));
    assert_eq!((shown.value, shown.object), (shown::E(2), Some(shown::E(4))));
    assert_eq!(shown.slot, [Some(shown::E(3)), None]);
    assert_eq!(shown::D::info(), ConfigMap::info());

    let ports: Ports = serde_json::from_str(r#"{"spec": {"ports": [{"port": 80}, {"targetPort": 8}]}}"#).unwrap();
    assert_eq!((ports.made, ports.targets), (vec![80], vec![None, Some(8)]));
}

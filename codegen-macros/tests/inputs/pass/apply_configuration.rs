//! Apply configurations: containers, nested types, serde's names, visibility, and the whole value.
#![deny(warnings, unused, unreachable_pub, missing_docs, private_interfaces)]

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::Condition, util::intstr::IntOrString};
use kubewright::{ApplyConfiguration, CustomResource, Informer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(CustomResource, Informer, ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced, status = "FooStatus")]
#[serde(rename_all = "camelCase")]
struct FooSpec {
    /// The image.
    image: String,
    /// Any number,
    /// of replicas.
    #[serde(default)]
    desired_replicas: Option<i64>,
    r#type: Mode,
    #[serde(rename = "PORTS", default, skip_serializing_if = "Vec::is_empty")]
    #[apply(nested)]
    ports: Vec<Port>,
    #[apply(nested)]
    #[serde(default)]
    by_name: Option<BTreeMap<String, Port>>,
    #[apply(nested)]
    hashed: HashMap<String, Vec<Option<Port>>>,
    arguments: Vec<String>,
    labels: BTreeMap<String, String>,
    set: BTreeSet<u8>,
    #[apply(nested)]
    next: Option<Box<Node>>,
    #[apply(nested)]
    boxed: Box<Port>,
    pair: Option<(u8, Mode)>,
    /// A module's type.
    #[apply(nested)]
    address: net::Address,
    port: std::option::Option<IntOrString>,
    limits: BTreeMap<String, Quantity>,
    anything: Value,
    ratio: f64,
    alias: Ports,
    new: u8,
    #[serde(flatten)]
    #[apply(nested)]
    common: Common,
    #[apply(with = "text_option")]
    #[schemars(with = "String")]
    #[serde(with = "text")]
    number: u32,
    #[apply(skip)]
    left_out: NotApplied,
    #[serde(skip)]
    #[allow(dead_code)]
    not_in_json: NotApplied,
}

#[derive(ApplyConfiguration, Clone, Debug, Default, Deserialize, PartialEq, Serialize, JsonSchema)]
struct FooStatus {
    ready: bool,
    conditions: Vec<Condition>,
}

#[derive(ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Port {
    name: String,
    number: u16,
}

#[derive(ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Node {
    #[apply(nested)]
    next: Option<Box<Node>>,
}

#[derive(ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Common {
    zone: Option<Zone>,
    #[serde(flatten)]
    rest: Option<BTreeMap<String, Value>>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, JsonSchema)]
enum Mode {
    On,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
struct Zone {
    name: String,
}

#[derive(ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[apply(crate = ::kubewright)]
struct Empty {}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
struct NotApplied {}

type Ports = Vec<u16>;

mod net {
    use kubewright::ApplyConfiguration;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub(crate) struct Address {
        pub(crate) ip: Option<String>,
    }
}

mod text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(number: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&number.to_string())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

mod text_option {
    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(number: &Option<u32>, serializer: S) -> Result<S::Ok, S::Error> {
        super::text::serialize(&number.unwrap_or_default(), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
        super::text::deserialize(deserializer).map(Some)
    }
}

/// Public types.
pub mod api {
    use kubewright::{ApplyConfiguration, CustomResource};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    /// A cluster-scoped kind without `Informer` and without a status.
    #[derive(CustomResource, ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1", kind = "Bar", root = "BarObject")]
    pub struct BarSpec {
        /// The size.
        pub size: i32,
        /// What others do not see.
        pub(crate) hidden: bool,
    }
}

fn spec() -> FooSpec {
    let port = || Port { name: "http".to_owned(), number: 80 };
    FooSpec {
        image: "a".to_owned(),
        desired_replicas: Some(3),
        r#type: Mode::On,
        ports: Vec::new(),
        by_name: Some(BTreeMap::from([("x".to_owned(), port())])),
        hashed: HashMap::from([("y".to_owned(), vec![Some(port())])]),
        arguments: vec!["b".to_owned()],
        labels: BTreeMap::new(),
        set: BTreeSet::from([1]),
        next: Some(Box::new(Node { next: Some(Box::new(Node { next: None })) })),
        boxed: Box::new(port()),
        pair: Some((1, Mode::On)),
        address: net::Address { ip: Some("10.0.0.1".to_owned()) },
        port: Some(IntOrString::Int(80)),
        limits: BTreeMap::from([("cpu".to_owned(), Quantity("1".to_owned()))]),
        anything: json!({"a": null}),
        ratio: 0.5,
        alias: vec![1],
        new: 1,
        common: Common {
            zone: Some(Zone { name: "z".to_owned() }),
            rest: Some(BTreeMap::from([("other".to_owned(), json!(1))])),
        },
        number: 12,
        left_out: NotApplied {},
        not_in_json: NotApplied {},
    }
}

fn main() {
    // What is set is sent.
    let port = || PortApply::new().name("http");
    let apply = FooSpecApply::new()
        .image("a")
        .desired_replicas(3)
        .r#type(Mode::On)
        .ports([port(), Port { name: "dns".to_owned(), number: 53 }.into()])
        .by_name([("x", port())])
        .arguments(["b"])
        .labels([("c", "d")])
        .next(NodeApply::new().next(NodeApply::new()))
        .boxed(port())
        .port(IntOrString::Int(80))
        .common(CommonApply::new().zone(Zone { name: "z".to_owned() }))
        .number(12);
    let json = json!({
        "image": "a",
        "desiredReplicas": 3,
        "type": "On",
        "PORTS": [{"name": "http"}, {"name": "dns", "number": 53}],
        "byName": {"x": {"name": "http"}},
        "arguments": ["b"],
        "labels": {"c": "d"},
        "next": {"next": {}},
        "boxed": {"name": "http"},
        "port": 80,
        "zone": "z",
        "number": "12",
    });
    assert_eq!(serde_json::to_value(&apply).unwrap(), json);
    assert_eq!(serde_json::from_value::<FooSpecApply>(json).unwrap(), apply.clone());
    assert_eq!(serde_json::to_value(FooSpecApply::new()).unwrap(), json!({}));

    // The whole value has the same JSON, without nulls and what is left out.
    let mut whole = serde_json::to_value(spec()).unwrap();
    whole.as_object_mut().unwrap().remove("left_out");
    whole.as_object_mut().unwrap().remove("leftOut");
    whole["next"]["next"] = json!({});
    let from = FooSpecApply::from(spec());
    assert_eq!(serde_json::to_value(&from).unwrap(), whole);
    assert_eq!(serde_json::from_value::<FooSpecApply>(whole).unwrap(), from);

    let foo = FooApply::namespaced("default", "web").spec(apply).status(FooStatus::default());
    assert_eq!(foo.status, Some(FooStatusApply::new().ready(false).conditions([])));
    let _ = FooStatusApply { ready: None, ..FooStatusApply::default() };
    assert_eq!(EmptyApply::from(Empty {}), EmptyApply::new());

    let bar = api::BarObjectApply::new("a").finalizer("demo.dev/x").spec(api::BarSpecApply::new().size(1));
    assert_eq!(
        serde_json::to_value(bar).unwrap(),
        json!({
            "apiVersion": "demo.dev/v1",
            "kind": "Bar",
            "metadata": {"name": "a", "finalizers": ["demo.dev/x"]},
            "spec": {"size": 1},
        })
    );
}

//! Versions with one schema, whose values may mean something else: rules that the schemas do not show.

use std::collections::BTreeMap;

use super::*;
use crate::conversion::version::OtherVersion;

mod minutes {
    pub(super) fn to_hub(minutes: i32) -> i32 {
        minutes * 60
    }

    pub(super) fn from_hub(seconds: i32) -> i32 {
        seconds / 60
    }
}

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v3", kind = "Timer", namespaced)]
pub(super) struct TimerSpec {
    pub(super) start: i32,
    pub(super) end: i32,
    pub(super) pause: Option<Vec<Pause>>,
    pub(super) signal: Signal,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(super) struct Pause {
    pub(super) length: i32,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(super) enum Signal {
    Loud,
    Quiet,
}

macro_rules! version {
    ($module:ident, $version:literal, {$($field:tt)*}, {$($pause:tt)*}, {$($variant:tt)*}) => {
        #[expect(dead_code, reason = "only the type is used")]
        mod $module {
            use super::*;

            #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
            #[kube(group = "demo.dev", version = $version, kind = "Timer", namespaced)]
            #[convert(hub = super::TimerSpec)]
            pub(super) struct TimerSpec {
                $($field)*
                pub(super) pause: Option<Vec<Pause>>,
                pub(super) signal: Signal,
            }

            #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
            #[convert(hub = super::Pause)]
            pub(super) struct Pause {
                $($pause)*
            }

            #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
            #[convert(hub = super::Signal)]
            pub(super) enum Signal {
                $($variant)*
            }
        }
    };
}

version!(copy, "v2", { start: i32, end: i32, }, { length: i32 }, { Loud, Quiet });
version!(
    crossed,
    "v1",
    { #[convert(renamed = "end")] start: i32, #[convert(renamed = "start")] end: i32, },
    { length: i32 },
    { Loud, Quiet }
);
version!(
    nested,
    "v1",
    { start: i32, end: i32, },
    { #[convert(with = super::minutes)] length: i32 },
    { Loud, Quiet }
);
version!(
    variants,
    "v1",
    { start: i32, end: i32, },
    { length: i32 },
    { #[convert(renamed = "Quiet")] Loud, #[convert(renamed = "Loud")] Quiet }
);

#[tokio::test]
async fn rules_that_keep_the_schema_need_the_webhook() {
    fn conversion<O: OtherVersion<Timer>>() -> Value {
        let mut setup = setup();
        setup.versions::<Timer>().other::<copy::Timer>().other::<O>();
        document(&setup)["kinds"][0]["crd"]["spec"]["conversion"]["strategy"].clone()
    }
    assert_eq!(conversion::<crossed::Timer>(), "Webhook");
    assert_eq!(conversion::<nested::Timer>(), "Webhook");
    assert_eq!(conversion::<variants::Timer>(), "Webhook");
    let mut copies = setup();
    copies.versions::<Timer>().other::<copy::Timer>();
    let kinds = document(&copies)["kinds"].clone();
    assert_eq!(kinds[0]["versions"], json!(["v3", "v2"]));
    assert_eq!(kinds[0]["conversion"], json!({"hub": "v3", "rules": {"v2": []}}));
    assert_eq!(kinds[0]["crd"]["spec"]["conversion"], Value::Null);
}

/// The hub of [`gauge`]: nested types, and fields with JSON names of their own.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v2", kind = "Gauge", namespaced)]
#[serde(rename_all = "camelCase")]
pub(super) struct GaugeSpec {
    pub(super) max_size: i32,
    pub(super) new_ports: Vec<NewPort>,
    pub(super) by_name: BTreeMap<String, NewPort>,
    pub(super) unit: Unit,
    pub(super) units: Option<Vec<Unit>>,
    pub(super) seconds: i32,
    #[serde(flatten)]
    pub(super) rest: NewRest,
    pub(super) hub_owner: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(super) struct NewPort {
    pub(super) port: i32,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(super) enum Unit {
    Litre,
    Metre,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(super) struct NewRest {
    pub(super) text: String,
}

mod gauge {
    use super::*;

    #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1", kind = "Gauge", namespaced)]
    #[convert(hub = super::GaugeSpec, hub_only(hub_owner, default = String::new()))]
    #[serde(rename_all = "camelCase")]
    pub(super) struct GaugeSpec {
        #[serde(rename = "LIMIT")]
        #[convert(renamed = "max_size")]
        limit: i32,
        #[convert(renamed = "new_ports")]
        ports: Vec<Port>,
        by_name: BTreeMap<String, Port>,
        unit: Unit,
        units: Option<Vec<Unit>>,
        #[convert(with = super::minutes, renamed = "seconds")]
        minutes: i32,
        #[serde(flatten)]
        rest: Rest,
        #[convert(dropped)]
        gone_by: String,
    }

    #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[convert(hub = super::NewPort)]
    pub(super) struct Port {
        #[convert(renamed = "port")]
        number: i32,
    }

    #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[convert(hub = super::Unit)]
    pub(super) enum Unit {
        #[convert(renamed = "Litre")]
        Liter,
        Metre,
    }

    #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[convert(hub = super::NewRest)]
    pub(super) struct Rest {
        #[convert(renamed = "text")]
        word: String,
    }
}

#[tokio::test]
async fn document_has_the_hub_and_the_rules_by_their_paths_in_json() {
    let mut setup = setup();
    setup.versions::<Gauge>().other::<gauge::Gauge>();
    let function = |path: &str| json!({"field": path, "hub": path, "function": true});
    let rules = json!([
        {"field": "spec.LIMIT", "hub": "spec.maxSize"},
        {"field": "spec.ports", "hub": "spec.newPorts"},
        {"field": "spec.ports[].number", "hub": "spec.newPorts[].port"},
        {"field": "spec.byName.*.number", "hub": "spec.byName.*.port"},
        function("spec.unit"),
        function("spec.units[]"),
        {"field": "spec.minutes", "hub": "spec.seconds", "function": true},
        {"field": "spec.word", "hub": "spec.text"},
        {"field": "spec.goneBy"},
        {"hub": "spec.hubOwner"},
    ]);
    assert_eq!(
        document(&setup)["kinds"][0]["conversion"],
        json!({"hub": "v2", "rules": {"v1": rules}})
    );
}

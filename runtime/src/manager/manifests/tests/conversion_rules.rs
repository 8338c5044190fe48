//! Versions with one schema, whose values may mean something else: rules that the schemas do not show.

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
    assert_eq!(kinds[0]["crd"]["spec"]["conversion"], Value::Null);
}

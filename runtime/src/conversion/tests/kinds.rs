//! Three versions of one kind.

#![expect(unreachable_pub, reason = "the kinds of an operator are public")]

/// The hub.
pub(super) mod v1 {
    use std::collections::BTreeMap;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
    use schemars::{JsonSchema, Schema, json_schema};
    use serde::{Deserialize, Serialize};
    use serde_json::Value;

    use crate::{CustomResource, Informer};

    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(
        group = "demo.dev",
        version = "v1",
        kind = "Foo",
        namespaced,
        status = "FooStatus"
    )]
    #[serde(rename_all = "camelCase")]
    pub struct FooSpec {
        pub name: String,
        pub max_size: i64,
        /// Only here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub owner: Option<String>,
        /// Nullable, in all versions.
        pub note: Option<String>,
        /// Nullable, and renamed.
        pub remark: Option<String>,
        pub color: Color,
        /// In v1alpha1 one field with both.
        pub host: String,
        pub port: u16,
        #[serde(default)]
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["number"]))]
        pub ports: Vec<Port>,
        /// Found by their names.
        #[serde(default)]
        pub users: Vec<User>,
        /// Without a key.
        #[serde(default)]
        pub rules: Vec<Rule>,
        #[serde(default)]
        pub colors: Vec<Color>,
        pub target: Target,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub place: Option<Place>,
        #[serde(default)]
        pub limits: BTreeMap<String, Rule>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub nested: Option<Nested>,
        pub ratio: f64,
        #[serde(default)]
        #[schemars(schema_with = "anything")]
        pub extra: Option<Value>,
    }

    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub enum Color {
        Red,
        /// Only here.
        Crimson,
        Blue,
    }

    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub struct Port {
        pub number: i32,
        /// Only here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub protocol: Option<String>,
        pub color: Option<Color>,
    }

    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub struct User {
        pub name: String,
        /// Only here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub mail: Option<String>,
    }

    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub struct Rule {
        pub from: String,
        /// Only here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub weight: Option<i32>,
    }

    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub enum Target {
        Host(User),
        Service(User),
        /// Only here.
        Nowhere(Rule),
    }

    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[serde(tag = "type", rename_all = "camelCase")]
    pub enum Place {
        Zone(Zone),
        Region(Zone),
        /// Only here.
        Anywhere,
    }

    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub struct Zone {
        pub name: String,
        /// Only here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub rack: Option<String>,
    }

    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub struct Nested {
        pub rule: Rule,
        /// Only here, with all in it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub user: Option<User>,
    }

    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub struct FooStatus {
        pub phase: String,
        /// Only here.
        pub count: Option<i64>,
        #[serde(default)]
        pub conditions: Vec<Condition>,
    }

    pub(in super::super) fn anything(_: &mut schemars::SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
    }
}

/// With a status and a conversion of everything.
pub(super) mod v1alpha1 {
    use std::collections::BTreeMap;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::Value;

    use super::v1;
    use crate::{Convert, CustomResource, Informer};

    #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(
        group = "demo.dev",
        version = "v1alpha1",
        kind = "Foo",
        namespaced,
        status = "FooStatus"
    )]
    #[convert(hub = v1::FooSpec, hub_only(owner), hub_only(host, from = host), hub_only(port, from = port))]
    #[serde(rename_all = "camelCase")]
    pub struct FooSpec {
        name: String,
        /// Text, whose leading zeros the hub cannot hold.
        #[convert(renamed = "max_size", with = text)]
        limit: String,
        note: Option<String>,
        #[convert(renamed = "remark")]
        comment: Option<String>,
        color: Color,
        #[convert(dropped, from = address)]
        address: String,
        /// Only here.
        #[convert(dropped)]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        legacy: Option<String>,
        #[serde(default)]
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["number"]))]
        ports: Vec<Port>,
        #[serde(default)]
        users: Vec<User>,
        #[serde(default)]
        rules: Vec<Rule>,
        #[serde(default)]
        colors: Vec<Color>,
        target: Target,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Place>,
        #[serde(default)]
        limits: BTreeMap<String, Rule>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nested: Option<Nested>,
        ratio: f64,
        #[convert(renamed = "extra")]
        #[serde(default)]
        #[schemars(schema_with = "v1::anything")]
        free: Option<Value>,
    }

    mod text {
        #[expect(clippy::needless_pass_by_value, reason = "the derive passes values")]
        pub(super) fn to_hub(text: String) -> Result<i64, std::num::ParseIntError> {
            assert_ne!(text, "panic", "as in a test");
            text.parse()
        }

        pub(super) fn from_hub(number: i64) -> String {
            number.to_string()
        }
    }

    fn host(spec: &FooSpec) -> String {
        spec.address.split(':').next().unwrap_or_default().to_owned()
    }

    fn port(spec: &FooSpec) -> u16 {
        let port = spec.address.split(':').nth(1);
        port.and_then(|port| port.parse().ok()).unwrap_or(80)
    }

    fn address(hub: &v1::FooSpec) -> String {
        format!("{}:{}", hub.host, hub.port)
    }

    #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[convert(hub = v1::Color, hub_only(Crimson, default = Self::Red))]
    pub enum Color {
        Red,
        Blue,
        /// Only here.
        #[convert(dropped, default = v1::Color::Blue)]
        Green,
    }

    #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[convert(hub = v1::Port, hub_only(protocol))]
    pub struct Port {
        number: i32,
        color: Option<Color>,
    }

    #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[convert(hub = v1::User, hub_only(mail))]
    pub struct User {
        name: String,
        /// Only here.
        #[convert(dropped)]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        login: Option<String>,
    }

    #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[convert(hub = v1::Rule, hub_only(weight))]
    pub struct Rule {
        from: String,
    }

    #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[convert(hub = v1::Target, hub_only(Nowhere, default = Self::Host(User { name: "nowhere".to_owned(), login: None })))]
    #[serde(rename_all = "camelCase")]
    pub enum Target {
        Host(User),
        #[convert(renamed = "Service")]
        Backend(User),
    }

    #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[convert(hub = v1::Place, hub_only(Anywhere, default = Self::Zone(Zone { name: "any".to_owned() })))]
    #[serde(tag = "type", rename_all = "camelCase")]
    pub enum Place {
        Zone(Zone),
        #[convert(renamed = "Region")]
        Area(Zone),
    }

    #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[convert(hub = v1::Zone, hub_only(rack))]
    pub struct Zone {
        name: String,
    }

    #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[convert(hub = v1::Nested, hub_only(user))]
    pub struct Nested {
        rule: Rule,
    }

    #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[convert(hub = v1::FooStatus, hub_only(count))]
    pub struct FooStatus {
        phase: String,
        #[serde(default)]
        conditions: Vec<Condition>,
    }
}

/// With few fields and no status.
pub(super) mod v1beta1 {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::v1;
    use crate::{Convert, CustomResource, Informer};

    #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1beta1", kind = "Foo", namespaced)]
    #[convert(hub = v1::FooSpec, hub_only(owner), hub_only(note), hub_only(remark))]
    #[convert(hub_only(color, default = v1::Color::Blue), hub_only(host), hub_only(port, default = 80))]
    #[convert(
        hub_only(ports),
        hub_only(users),
        hub_only(rules),
        hub_only(colors),
        hub_only(limits)
    )]
    #[convert(hub_only(target, default = v1::Target::Host(v1::User { name: String::new(), mail: None })))]
    #[convert(hub_only(nested), hub_only(ratio), hub_only(extra), hub_only(place))]
    pub struct FooSpec {
        name: String,
        #[convert(renamed = "max_size")]
        size: i64,
    }
}

/// Two versions of a sensitive kind.
pub(super) mod sensitive {
    pub(in super::super) mod v1 {
        use schemars::JsonSchema;
        use serde::{Deserialize, Serialize};

        use crate::{CustomResource, Informer};

        #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
        #[kube(group = "demo.dev", version = "v1", kind = "Token", namespaced)]
        #[informer(sensitive)]
        pub struct TokenSpec {
            pub number: i64,
        }
    }

    pub(in super::super) mod v1beta1 {
        use schemars::JsonSchema;
        use serde::{Deserialize, Serialize};

        use super::v1;
        use crate::{Convert, CustomResource, Informer};

        #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
        #[kube(group = "demo.dev", version = "v1beta1", kind = "Token", namespaced)]
        #[convert(hub = v1::TokenSpec)]
        pub struct TokenSpec {
            #[convert(with = checked)]
            number: i64,
        }

        mod checked {
            pub fn to_hub(number: i64) -> i64 {
                assert!(number < 1000, "{number} is too large");
                number
            }

            pub fn from_hub(number: i64) -> i64 {
                number
            }
        }
    }
}

//! Structs and attributes without an apply configuration.

use kubewright::{ApplyConfiguration, CustomResource, Informer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Informer, ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
struct FooSpec {
    #[serde(with = "text")]
    #[schemars(with = "String")]
    number: u32,
    #[apply(leaf)]
    misspelt: String,
}

#[derive(ApplyConfiguration)]
struct Generic<T>(T);

#[derive(ApplyConfiguration)]
struct Tuple(u8);

#[derive(ApplyConfiguration, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", transparent)]
struct Transparent {
    value: u8,
}

#[derive(CustomResource, ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "NoSpec", no_spec)]
struct NoSpecFields {
    size: i32,
}

mod text {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(number: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(*number)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        u32::deserialize(deserializer)
    }
}

fn main() {}

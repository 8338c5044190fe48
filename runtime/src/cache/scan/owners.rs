//! The owner references of an object.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};

use crate::cache::object::OwnerRef;

pub(super) struct Owners(pub(super) Vec<OwnerRef>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference<'a> {
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    uid: Cow<'a, str>,
    controller: Option<bool>,
}

impl<'de> Deserialize<'de> for Owners {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let references = Vec::<Reference<'de>>::deserialize(deserializer)?;
        Ok(Self(references.into_iter().map(OwnerRef::from).collect()))
    }
}

impl From<Reference<'_>> for OwnerRef {
    fn from(reference: Reference<'_>) -> Self {
        Self {
            api_version: reference.api_version.into(),
            kind: reference.kind.into(),
            name: reference.name.into(),
            uid: reference.uid.into(),
            controller: reference.controller == Some(true),
        }
    }
}

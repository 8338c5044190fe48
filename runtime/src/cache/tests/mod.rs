//! Tests of the whole cache that need to see its inside, from a scripted server to handlers and listers, on a paused clock.
//!
//! What the public interface can show is tested in `runtime/tests/cache`. Where client-go has a test of the same behaviour, ours names it.

#[path = "../../../tests/support/mod.rs"]
#[allow(dead_code, reason = "shared by two test programs")]
pub(crate) mod support;

mod bad_input;
mod factory;
mod indexes;
mod owners;
mod storage_modes;
mod store;

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use serde_json::{Value, json};
use support::{Diary, config_map, contents, entry, informer, long_after, name, pairs, server, settle};

use super::*;
use crate::{Kind as _, NamespacedName};

/// What reads ConfigMaps of no informer.
fn views() -> decoder::Decoder {
    decoder::Decoder::new(ConfigMap::info(), false, Arc::default(), Arc::default())
}

//! Tests of the whole cache that need its internals, from a scripted server to handlers and listers, on a paused clock.
//!
//! Tests of the public interface are in `runtime/tests/cache`. A test names client-go's test of the same behaviour, if there is one.

#[path = "../../../tests/support/mod.rs"]
#[allow(dead_code, reason = "shared by two test programs")]
pub(crate) mod support;

mod bad_input;
mod factory;
mod fuzz_seeds;
mod indexes;
mod owners;
mod storage_modes;
mod store;

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use serde_json::{Value, json};
use support::{
    RecordingHandler, config_map, contents, entry, informer, name, pairs, run_until_idle, server,
    wait_out_backoff,
};

use super::*;
use crate::{Kind as _, NamespacedName};

/// Returns a decoder of ConfigMaps without an informer.
fn decoder() -> decoder::Decoder {
    decoder::Decoder::new(ConfigMap::info(), false, Arc::default(), Arc::default())
}

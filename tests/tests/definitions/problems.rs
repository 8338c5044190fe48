//! What `generate` refuses.

use std::collections::BTreeMap;

use kubewright::CustomKind;
use kubewright_cli::manifests::{KindManifest, definition_check};

/// Returns the problems that `generate` reports for a kind.
pub(crate) fn problems<K: CustomKind>() -> Vec<String> {
    let info = K::info();
    let kind = KindManifest {
        group: info.group.to_string(),
        kind: info.kind.to_string(),
        plural: info.plural.to_string(),
        namespaced: true,
        external: false,
        rust_types: BTreeMap::from([(info.version.to_string(), K::rust_types())]),
        conversion: None,
        crd: None,
    };
    let problems = definition_check::problems(&kind, &serde_json::to_value(K::definition()).unwrap());
    problems.into_iter().map(|problem| problem.text).collect()
}

//! Warnings about informers that work but are configured badly: all Secrets cached, a kind watched twice, bodies never decoded.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{InformerOptions, StorageMode, fifo::Namespace, untyped_informer::UntypedInformer};
use crate::Scope;

/// How often it is checked whether objects were decoded, and how long they may stay undecoded without a hint.
const NEVER_DECODED_CHECK_INTERVAL: Duration = Duration::from_mins(10);

/// Returns the warnings about an informer that is about to start on these namespaces; `all` are the informers of the factory.
pub(super) fn before_start(
    informer: &UntypedInformer,
    namespaces: &[Namespace],
    all: &[Arc<UntypedInformer>],
) -> Vec<String> {
    let (info, options) = (informer.info(), &informer.options);
    let mut warnings = Vec::new();
    let is_restricted = options.label_selector.is_some() || options.field_selector.is_some();
    let watches_all = namespaces.contains(&None) && !is_restricted;
    if info.is_secret() && watches_all && options.storage != StorageMode::Metadata {
        warnings.push(
            "all Secrets of the cluster are listed, watched and kept in memory, where an attacker of this process can read them; restrict the \
             informer with namespaces, a label selector or a field selector, or use `metadata_only`"
                .to_owned(),
        );
    }
    let has_namespaces = options.namespaces.as_ref().is_some_and(|names| !names.is_empty());
    if info.scope == Scope::Cluster && has_namespaces {
        warnings.push(format!(
            "the namespaces of the informer of {} are ignored, because the kind is cluster-scoped; remove them from its options",
            info.group_resource()
        ));
    }
    let earlier = all
        .iter()
        .take_while(|other| !std::ptr::eq(&raw const ***other, informer));
    if let Some(other) = earlier.filter(|other| other.info() == info).last() {
        warnings.push(format!(
            "{} is listed and watched twice, because {}; use equal options to share one watch",
            info.group_resource(),
            difference(&other.options, options)
        ));
    }
    warnings
}

/// Waits until objects have stayed undecoded for the whole interval, and returns a hint to use metadata only. Returns none as soon as
/// more than metadata is needed. Cancel by dropping.
pub(super) async fn never_decoded(informer: Arc<UntypedInformer>) -> Option<String> {
    loop {
        sleep(NEVER_DECODED_CHECK_INTERVAL).await;
        if informer.options.storage != StorageMode::Compressed || informer.needs_bodies() {
            return None;
        }
        let objects = informer.stats().objects;
        if objects > 0 {
            return Some(format!(
                "none of {objects} objects of {} was decoded within {} minutes: use `metadata_only`, which transfers and stores less",
                informer.info().group_resource(),
                NEVER_DECODED_CHECK_INTERVAL.as_secs() / 60
            ));
        }
    }
}

/// Describes how the options of two informers differ.
fn difference(one: &InformerOptions, other: &InformerOptions) -> String {
    let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".into());
    let namespaces = |options: &InformerOptions| match options.namespaces.as_deref() {
        None | Some([]) => "the default".to_owned(),
        Some(names) => names.join(","),
    };
    let parts = [
        ("namespaces", namespaces(one), namespaces(other)),
        (
            "label selector",
            shown(&one.label_selector),
            shown(&other.label_selector),
        ),
        (
            "field selector",
            shown(&one.field_selector),
            shown(&other.field_selector),
        ),
        (
            "storage mode",
            format!("{:?}", one.storage),
            format!("{:?}", other.storage),
        ),
        (
            "sensitive",
            one.sensitive.to_string(),
            other.sensitive.to_string(),
        ),
    ];
    let parts = parts.iter().filter(|(_, one, other)| one != other);
    let parts: Vec<_> = parts
        .map(|(name, one, other)| format!("{name} differs ({one}, {other})"))
        .collect();
    match parts[..] {
        [] => "their transforms differ".to_owned(),
        _ => parts.join(" and "),
    }
}

#[cfg(test)]
#[path = "warnings_tests.rs"]
mod tests;

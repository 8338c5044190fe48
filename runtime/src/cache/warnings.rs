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
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::{
        Kind,
        cache::{IndexSpec, IndexType, Lister, Object},
    };

    fn untyped<K: Kind>(options: InformerOptions) -> Arc<UntypedInformer> {
        Arc::new(UntypedInformer::new::<K>(K::info(), options, Arc::default()))
    }

    fn labelled(selector: &str) -> InformerOptions {
        InformerOptions {
            label_selector: Some(selector.to_owned()),
            ..InformerOptions::default()
        }
    }

    #[test]
    fn caching_all_secrets_is_warned_about() {
        let full = untyped::<Secret>(InformerOptions::default());
        assert!(before_start(&full, &[None], &[]).concat().contains("all Secrets"));
        assert_eq!(before_start(&full, &[Some("shop".into())], &[]), [""; 0]);
        let metadata = InformerOptions {
            storage: StorageMode::Metadata,
            ..InformerOptions::default()
        };
        for options in [labelled("a=b"), metadata] {
            assert_eq!(before_start(&untyped::<Secret>(options), &[None], &[]), [""; 0]);
        }
        assert_eq!(
            before_start(&untyped::<ConfigMap>(InformerOptions::default()), &[None], &[]),
            [""; 0]
        );
    }

    #[test]
    fn second_watch_of_a_kind_is_warned_about_once_with_the_difference() {
        let informers = [
            untyped::<ConfigMap>(InformerOptions::default()),
            untyped::<ConfigMap>(labelled("a=b")),
        ];
        assert_eq!(before_start(&informers[0], &[None], &informers), [""; 0]);
        let warning = before_start(&informers[1], &[None], &informers).concat();
        assert!(
            warning.contains("configmaps is listed and watched twice")
                && warning.contains("label selector differs (none, a=b)"),
            "{warning}"
        );
    }

    #[test]
    fn namespaces_of_a_cluster_scoped_kind_are_warned_about() {
        let nodes = untyped::<k8s_openapi::api::core::v1::Node>(InformerOptions {
            namespaces: Some(vec!["shop".into()]),
            ..InformerOptions::default()
        });
        let warnings = before_start(&nodes, &[None], &[]).concat();
        assert!(
            warnings.contains("the namespaces of the informer of nodes are ignored"),
            "{warnings}"
        );
    }

    const NODE: IndexSpec = IndexSpec {
        name: "node",
        path: "spec.nodeName",
        value_type: IndexType::String,
    };
    const TEAM: IndexSpec = IndexSpec {
        path: "metadata.labels.team",
        ..NODE
    };

    fn seeded() -> Arc<UntypedInformer> {
        let informer = untyped::<ConfigMap>(InformerOptions::default());
        let object = json!({"metadata": {"name": "a", "namespace": "shop"}});
        informer.seed(&object).unwrap();
        informer
    }

    fn object(informer: &Arc<UntypedInformer>) -> Object<ConfigMap> {
        let lister = Lister::over(informer.clone());
        lister.list().objects().next().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn hint_after_ten_minutes_without_decoding() {
        let informer = seeded();
        informer.add_index(&TEAM).unwrap();
        object(&informer).annotation("a");
        let started = Instant::now();
        let hint = never_decoded(informer).await.unwrap();
        assert!(
            hint.contains("none of 1 objects of configmaps") && hint.contains("`metadata_only`"),
            "{hint}"
        );
        assert_eq!(started.elapsed(), NEVER_DECODED_CHECK_INTERVAL);
    }

    #[tokio::test(start_paused = true)]
    async fn no_hint_while_the_store_is_empty() {
        let informer = untyped::<ConfigMap>(InformerOptions::default());
        let hint = tokio::spawn(never_decoded(informer.clone()));
        sleep(3 * NEVER_DECODED_CHECK_INTERVAL + Duration::from_secs(1)).await;
        informer
            .seed(&json!({"metadata": {"name": "a", "namespace": "shop"}}))
            .unwrap();
        sleep(NEVER_DECODED_CHECK_INTERVAL).await;
        assert!(hint.is_finished() && hint.await.unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn no_hint_if_more_than_metadata_is_needed() {
        let needs: [fn(&Arc<UntypedInformer>); 3] = [
            |informer| drop(object(informer).decode().unwrap()),
            |informer| drop(object(informer).json()),
            |informer| informer.add_index(&NODE).unwrap(),
        ];
        for need in needs {
            let informer = seeded();
            need(&informer);
            assert_eq!(never_decoded(informer).await, None);
        }
    }
}

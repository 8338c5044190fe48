//! What people should know of the informers that run: not wrong, but better otherwise.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{InformerOptions, StorageMode, fifo::Namespace, untyped_informer::UntypedInformer};

/// After this time it is said that nothing was decoded; so often it is looked at.
const UNREAD_AFTER: Duration = Duration::from_mins(10);

/// What can be said of an informer before it runs, which will watch these namespaces; `others` are those of the factory.
pub(super) fn before_start(
    core: &UntypedInformer,
    namespaces: &[Namespace],
    others: &[Arc<UntypedInformer>],
) -> Vec<String> {
    let (info, options) = (core.info(), &core.options);
    let mut hints = Vec::new();
    let is_restricted = options.label_selector.is_some() || options.field_selector.is_some();
    let watches_all = namespaces.contains(&None) && !is_restricted;
    if info.is_secret() && watches_all && options.storage != StorageMode::Metadata {
        hints.push(
            "all Secrets of the cluster are listed, watched and kept in memory: whoever gets into this process reads them; watch only some \
             (namespaces, a label or field selector), or `metadata_only`"
                .to_owned(),
        );
    }
    let earlier = others
        .iter()
        .take_while(|other| !std::ptr::eq(&raw const ***other, core));
    if let Some(other) = earlier.filter(|other| other.info() == info).last() {
        hints.push(format!(
            "{} is listed and watched twice, because {}; informers with equal options share one watch",
            info.group_resource(),
            difference(&other.options, options)
        ));
    }
    hints
}

/// What to say of an informer whose objects nobody reads, once that is so; returns without a hint when somebody does. Cancel by dropping.
pub(super) async fn unread(core: Arc<UntypedInformer>) -> Option<String> {
    loop {
        sleep(UNREAD_AFTER).await;
        if core.options.storage != StorageMode::Compressed || core.needs_bodies() {
            return None;
        }
        let objects = core.stats().objects;
        if objects > 0 {
            return Some(format!(
                "none of {objects} objects of {} was decoded within {} minutes: `metadata_only` would do, with less to send and to keep",
                core.info().group_resource(),
                UNREAD_AFTER.as_secs() / 60
            ));
        }
    }
}

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
            "what is kept",
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
        .map(|(what, one, other)| format!("{what} differs ({one}, {other})"))
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

    fn core<K: Kind>(options: InformerOptions) -> Arc<UntypedInformer> {
        Arc::new(UntypedInformer::new::<K>(K::info(), options, Arc::default()))
    }

    fn labelled(selector: &str) -> InformerOptions {
        InformerOptions {
            label_selector: Some(selector.to_owned()),
            ..InformerOptions::default()
        }
    }

    #[test]
    fn a_full_watch_of_secrets_is_warned_of() {
        let full = core::<Secret>(InformerOptions::default());
        assert!(before_start(&full, &[None], &[]).concat().contains("all Secrets"));
        assert_eq!(before_start(&full, &[Some("shop".into())], &[]), [""; 0]);
        let metadata = InformerOptions {
            storage: StorageMode::Metadata,
            ..InformerOptions::default()
        };
        for options in [labelled("a=b"), metadata] {
            assert_eq!(before_start(&core::<Secret>(options), &[None], &[]), [""; 0]);
        }
        assert_eq!(
            before_start(&core::<ConfigMap>(InformerOptions::default()), &[None], &[]),
            [""; 0]
        );
    }

    #[test]
    fn a_second_watch_is_told_with_what_makes_it_another_and_only_once() {
        let cores = [
            core::<ConfigMap>(InformerOptions::default()),
            core::<ConfigMap>(labelled("a=b")),
        ];
        assert_eq!(before_start(&cores[0], &[None], &cores), [""; 0]);
        let hint = before_start(&cores[1], &[None], &cores).concat();
        assert!(
            hint.contains("configmaps is listed and watched twice")
                && hint.contains("label selector differs (none, a=b)"),
            "{hint}"
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
        let core = core::<ConfigMap>(InformerOptions::default());
        let object = json!({"metadata": {"name": "a", "namespace": "shop"}});
        core.seed(&object).unwrap();
        core
    }

    fn object(core: &Arc<UntypedInformer>) -> Object<ConfigMap> {
        let lister = Lister::over(core.clone());
        lister.list().objects().next().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn after_ten_minutes_it_is_said_that_nobody_reads_what_there_is() {
        let core = seeded();
        core.add_index(&TEAM).unwrap();
        object(&core).annotation("a");
        let started = Instant::now();
        let hint = unread(core).await.unwrap();
        assert!(
            hint.contains("none of 1 objects of configmaps") && hint.contains("`metadata_only`"),
            "{hint}"
        );
        assert_eq!(started.elapsed(), UNREAD_AFTER);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_said_as_long_as_there_is_nothing() {
        let core = core::<ConfigMap>(InformerOptions::default());
        let hint = tokio::spawn(unread(core.clone()));
        sleep(3 * UNREAD_AFTER + Duration::from_secs(1)).await;
        core.seed(&json!({"metadata": {"name": "a", "namespace": "shop"}}))
            .unwrap();
        sleep(UNREAD_AFTER).await;
        assert!(hint.is_finished() && hint.await.unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_said_where_more_than_metadata_is_needed() {
        let needs: [fn(&Arc<UntypedInformer>); 3] = [
            |core| drop(object(core).decode().unwrap()),
            |core| drop(object(core).json()),
            |core| core.add_index(&NODE).unwrap(),
        ];
        for need in needs {
            let core = seeded();
            need(&core);
            assert_eq!(unread(core).await, None);
        }
    }
}

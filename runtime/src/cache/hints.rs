//! What people should know of the informers that run: not wrong, but better otherwise.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{InformerOptions, Keep, core::Core};

/// After this time it is said that nothing was decoded.
const UNREAD_AFTER: Duration = Duration::from_mins(10);

/// What can be said of an informer before it runs; `others` are those of the factory.
pub(super) fn before_start(core: &Core, others: &[Arc<Core>]) -> Vec<String> {
    let (info, options) = (core.info(), &core.options);
    let mut hints = Vec::new();
    if info.is_secret() && watches_all(options) && options.keep != Keep::Metadata {
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

/// Says once, after ten minutes, which informers keep objects that nobody decodes. Cancel by dropping.
pub(super) async fn unread(core: Arc<Core>) {
    sleep(UNREAD_AFTER).await;
    let stats = core.stats();
    if stats.objects > 0 && stats.decodes == 0 && core.options.keep == Keep::Compressed {
        tracing::info!(
            "none of {} objects of {} was decoded within {} minutes: `metadata_only` would do, with less to send and to keep",
            stats.objects,
            core.info().group_resource(),
            UNREAD_AFTER.as_secs() / 60
        );
    }
}

fn watches_all(options: &InformerOptions) -> bool {
    let everywhere = options.namespaces.as_ref().is_none_or(Vec::is_empty);
    everywhere && options.label_selector.is_none() && options.field_selector.is_none()
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
            format!("{:?}", one.keep),
            format!("{:?}", other.keep),
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

    use super::*;
    use crate::{Kind, cache::hot::HotSet};

    fn core<K: Kind>(options: InformerOptions) -> Arc<Core> {
        Arc::new(Core::new::<K>(K::info(), options, Arc::new(HotSet::new(0))))
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
        assert!(before_start(&full, &[]).concat().contains("all Secrets"));
        let metadata = InformerOptions {
            keep: Keep::Metadata,
            ..InformerOptions::default()
        };
        for options in [labelled("a=b"), metadata] {
            assert_eq!(before_start(&core::<Secret>(options), &[]), [""; 0]);
        }
        assert_eq!(
            before_start(&core::<ConfigMap>(InformerOptions::default()), &[]),
            [""; 0]
        );
    }

    #[test]
    fn a_second_watch_is_told_with_what_makes_it_another_and_only_once() {
        let cores = [
            core::<ConfigMap>(InformerOptions::default()),
            core::<ConfigMap>(labelled("a=b")),
        ];
        assert_eq!(before_start(&cores[0], &cores), [""; 0]);
        let hint = before_start(&cores[1], &cores).concat();
        assert!(
            hint.contains("configmaps is listed and watched twice")
                && hint.contains("label selector differs (none, a=b)"),
            "{hint}"
        );
    }
}

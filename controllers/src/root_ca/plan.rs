//! What the ConfigMap of a namespace holds.

use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};

pub(super) const CONFIG_MAP: &str = "kube-root-ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";
/// Kubernetes' text, which conformance tests and people look for.
const DESCRIPTION_TEXT: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/// What is to be written.
#[derive(Debug, PartialEq)]
pub(super) enum Write {
    Create(ConfigMap),
    Update(ConfigMap),
}

/// Compares the ConfigMap with the CA. Labels, and annotations of others, stay; another text of the description does, too.
pub(super) fn plan(namespace: &str, existing: Option<&ConfigMap>, root_ca: &str) -> Option<Write> {
    let data = BTreeMap::from([("ca.crt".to_owned(), root_ca.to_owned())]);
    let described = |annotations: Option<BTreeMap<String, String>>| {
        let mut annotations = annotations.unwrap_or_default();
        annotations.insert(DESCRIPTION.to_owned(), DESCRIPTION_TEXT.to_owned());
        Some(annotations)
    };
    let Some(existing) = existing else {
        return Some(Write::Create(ConfigMap {
            metadata: ObjectMeta {
                name: Some(CONFIG_MAP.to_owned()),
                namespace: Some(namespace.to_owned()),
                annotations: described(None),
                ..ObjectMeta::default()
            },
            data: Some(data),
            ..ConfigMap::default()
        }));
    };
    let annotations = existing.metadata.annotations.as_ref();
    let has_description = annotations
        .and_then(|annotations| annotations.get(DESCRIPTION))
        .is_some_and(|text| !text.is_empty());
    if has_description && existing.data.as_ref() == Some(&data) {
        return None;
    }
    let mut updated = existing.clone();
    updated.data = Some(data);
    updated.metadata.annotations = described(updated.metadata.annotations);
    Some(Write::Update(updated))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created() -> ConfigMap {
        match plan("shop", None, "ca") {
            Some(Write::Create(created)) => created,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn missing_config_map_is_created_with_ca_and_description() {
        let created = created();
        assert_eq!(created.metadata.namespace.as_deref(), Some("shop"));
        assert_eq!(created.data.as_ref().unwrap()["ca.crt"], "ca");
        assert_eq!(plan("shop", Some(&created), "ca"), None);
    }

    #[test]
    fn changed_data_and_a_missing_description_are_restored_and_the_rest_stays() {
        let mut more = created();
        more.data.as_mut().unwrap().insert("other".into(), "x".into());
        let mut described = created();
        described
            .metadata
            .annotations
            .as_mut()
            .unwrap()
            .insert(DESCRIPTION.into(), "mine".into());
        assert_eq!(plan("shop", Some(&described), "ca"), None);
        let mut bare = created();
        bare.metadata.annotations = Some(BTreeMap::from([("note".to_owned(), "kept".to_owned())]));
        for (existing, ca) in [(more, "ca"), (bare.clone(), "ca"), (created(), "another")] {
            let Some(Write::Update(updated)) = plan("shop", Some(&existing), ca) else {
                panic!("{existing:?} needs an update");
            };
            assert_eq!(
                updated.data,
                Some(BTreeMap::from([("ca.crt".to_owned(), ca.to_owned())]))
            );
            assert_eq!(plan("shop", Some(&updated), ca), None);
        }
        let Some(Write::Update(updated)) = plan("shop", Some(&bare), "ca") else {
            panic!("needs an update");
        };
        assert_eq!(updated.metadata.annotations.unwrap()["note"], "kept");
    }
}

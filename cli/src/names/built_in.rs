//! Names of Kubernetes' own resources: a new kind may have the same one, and kubectl then needs the group.

use kubewright_apiserver::kinds::Catalog;

/// Returns the built-in resource that kubectl may take the name for, with its group, as in `cronjobs.batch`.
pub(super) fn built_in_resource(plural: &str, singular: &str) -> Option<String> {
    let catalog = Catalog::built_in().ok()?;
    let is_meant = |name: &str| name == plural || name == singular;
    let found = catalog.iter().find(|kind| {
        is_meant(&kind.plural)
            || is_meant(&kind.singular)
            || kind.short_names.iter().any(|name| is_meant(name))
    })?;
    Some(found.group_resource())
}

/// Returns the resource as users write it for kubectl: the plural, with the group if the name alone is ambiguous.
pub(crate) fn kubectl_resource(plural: &str, singular: &str, group: &str) -> String {
    match built_in_resource(plural, singular) {
        Some(_) => format!("{plural}.{group}"),
        None => plural.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_singulars_and_short_names_are_found() {
        let found = |plural, singular| built_in_resource(plural, singular);
        assert_eq!(found("cronjobs", "cronjob").as_deref(), Some("cronjobs.batch"));
        assert_eq!(found("pos", "po").as_deref(), Some("pods"));
        assert_eq!(found("foos", "foo"), None);
    }
}

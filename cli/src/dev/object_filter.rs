//! Selects the kinds whose changes are printed: `--objects` and `--quiet`.

use crate::{error::UnknownObjects, similar::is_similar};

/// The kinds whose changes are printed.
#[derive(Debug)]
pub(super) enum ObjectFilter {
    All,
    /// Those with one of these names.
    Named(Vec<String>),
    Nothing,
}

/// The names of a resource, as in discovery.
#[derive(Debug)]
pub(super) struct ResourceNames {
    pub(super) group: String,
    pub(super) plural: String,
    pub(super) kind: String,
    /// The singular, and the short names.
    pub(super) aliases: Vec<String>,
}

impl ObjectFilter {
    /// Whether changes of this resource are printed.
    pub(super) fn selects(&self, resource: &ResourceNames) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.iter().any(|name| resource.has_name(name)),
            Self::Nothing => false,
        }
    }

    /// Checks that each name selects one of the watched resources.
    pub(super) fn check(&self, watched: &[ResourceNames]) -> Result<(), UnknownObjects> {
        let Self::Named(names) = self else {
            return Ok(());
        };
        let is_unknown = |name: &&String| !watched.iter().any(|resource| resource.has_name(name));
        let Some(name) = names.iter().find(is_unknown) else {
            return Ok(());
        };
        let bare = name.split('.').next().unwrap_or_default();
        let mut plurals: Vec<_> = watched.iter().map(|resource| resource.plural.clone()).collect();
        plurals.sort();
        plurals.dedup();
        Err(UnknownObjects {
            name: name.clone(),
            similar: plurals.iter().find(|plural| is_similar(plural, bare)).cloned(),
            watched: plurals,
        })
    }
}

impl ResourceNames {
    /// Whether `name` is the plural, the kind, the singular or a short name, alone or with the group after a dot.
    fn has_name(&self, name: &str) -> bool {
        let (bare, group) = match name.split_once('.') {
            Some((bare, group)) => (bare, Some(group)),
            None => (name, None),
        };
        let mut names = [&self.plural, &self.kind].into_iter().chain(&self.aliases);
        group.is_none_or(|group| group.eq_ignore_ascii_case(&self.group))
            && names.any(|known| known.eq_ignore_ascii_case(bare))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched() -> [ResourceNames; 3] {
        let names = |group: &str, plural: &str, kind: &str, aliases: &[&str]| ResourceNames {
            group: group.to_owned(),
            plural: plural.to_owned(),
            kind: kind.to_owned(),
            aliases: aliases.iter().map(|&alias| alias.to_owned()).collect(),
        };
        [
            names("apps", "deployments", "Deployment", &["deployment", "deploy"]),
            names("demo.dev", "foos", "Foo", &["foo"]),
            names("", "pods", "Pod", &["pod", "po"]),
        ]
    }

    fn named(names: &[&str]) -> ObjectFilter {
        ObjectFilter::Named(names.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn resources_are_selected_by_each_of_their_names() {
        let selected = |filter: &ObjectFilter| {
            let watched = watched();
            let selected = watched.iter().filter(|resource| filter.selects(resource));
            selected.map(|resource| resource.kind.clone()).collect::<Vec<_>>()
        };
        for name in [
            "deployments",
            "Deployment",
            "DEPLOY",
            "deployments.apps",
            "deploy.Apps",
        ] {
            assert_eq!(selected(&named(&[name])), ["Deployment"], "{name}");
        }
        assert_eq!(selected(&named(&["po", "foo.demo.dev"])), ["Foo", "Pod"]);
        assert_eq!(selected(&ObjectFilter::All).len(), 3);
        assert_eq!(selected(&ObjectFilter::Nothing).len(), 0);
    }

    #[test]
    fn unknown_names_are_errors_with_the_known_ones() {
        let error = |names: &[&str]| named(names).check(&watched()).map_err(|error| error.to_string());
        assert_eq!(error(&["foos", "pod"]), Ok(()));
        assert_eq!(
            error(&["foos", "secrets"]).unwrap_err(),
            "nothing called \"secrets\" is watched: --objects may name deployments, foos, pods"
        );
        assert_eq!(
            error(&["deploymets.apps"]).unwrap_err(),
            "nothing called \"deploymets.apps\" is watched: did you mean deployments? --objects may name deployments, foos, pods"
        );
        assert!(error(&["foos.apps"]).is_err(), "the group is another one");
        assert_eq!(ObjectFilter::Nothing.check(&watched()), Ok(()));
    }
}

//! The controllers by their names, as kube-controller-manager lists them.

use std::fmt;

use kubewright::controller::Setup;

use crate::Options;

/// A controller: its name, and what it was called before.
#[derive(Clone, Copy)]
pub struct Controller {
    /// The name, also that of the runtime's controller: in logs, metrics and the user agent.
    pub name: &'static str,
    /// Former names, which `--controllers` accepts as well.
    pub aliases: &'static [&'static str],
    register: fn(&mut Setup, &Options),
}

/// A name that no controller has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is no controller: the controllers are {}", names().join(", "))]
pub struct UnknownController {
    /// The name.
    pub name: String,
}

/// All controllers that this library was built with, in the order in which they start.
pub const CONTROLLERS: &[Controller] = &[
    #[cfg(feature = "core")]
    Controller {
        name: "serviceaccount-token-controller",
        aliases: &["serviceaccount-token"],
        register: crate::service_account_token::register,
    },
    #[cfg(feature = "core")]
    Controller {
        name: "root-ca-certificate-publisher-controller",
        aliases: &["root-ca-cert-publisher"],
        register: crate::root_ca::register,
    },
    #[cfg(feature = "core")]
    Controller {
        name: "legacy-serviceaccount-token-cleaner-controller",
        aliases: &["legacy-service-account-token-cleaner"],
        register: crate::legacy_token_cleaner::register,
    },
    #[cfg(feature = "core")]
    Controller {
        name: "serviceaccount-controller",
        aliases: &["serviceaccount"],
        register: crate::service_account::register,
    },
    #[cfg(feature = "core")]
    Controller {
        name: "namespace-controller",
        aliases: &["namespace"],
        register: crate::namespace::register,
    },
    #[cfg(feature = "gc")]
    Controller {
        name: "garbage-collector-controller",
        aliases: &["garbagecollector"],
        register: crate::garbage_collector::register,
    },
    #[cfg(feature = "gc")]
    Controller {
        name: "pod-garbage-collector-controller",
        aliases: &["podgc"],
        register: crate::pod_garbage_collector::register,
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "daemonset-controller",
        aliases: &["daemonset"],
        register: crate::daemon_set::register,
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "deployment-controller",
        aliases: &["deployment"],
        register: crate::deployment::register,
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "job-controller",
        aliases: &["job"],
        register: crate::job::register,
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "replicaset-controller",
        aliases: &["replicaset"],
        register: crate::replica_set::register_replica_sets,
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "replicationcontroller-controller",
        aliases: &["replicationcontroller"],
        register: crate::replica_set::register_replication_controllers,
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "statefulset-controller",
        aliases: &["statefulset"],
        register: crate::stateful_set::register,
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "cronjob-controller",
        aliases: &["cronjob"],
        register: crate::cron_job::register,
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "ttl-after-finished-controller",
        aliases: &["ttl-after-finished"],
        register: crate::ttl_after_finished::register,
    },
];

impl Controller {
    /// Registers the controller.
    pub(crate) fn register(&self, setup: &mut Setup, options: &Options) {
        setup.component(self.name, |setup| (self.register)(setup, options));
    }
}

/// Returns the controllers that a text selects, such as `*,-foo,bar`, with kube-controller-manager's rules: `*` is all, `-name` all but that
/// one, a name alone that one. Names count before `*`, in any order. Names may be aliases.
pub fn select(text: &str) -> Result<Vec<Controller>, UnknownController> {
    let mut chosen = vec![None; CONTROLLERS.len()];
    let mut all = false;
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let (name, is_on) = match item.strip_prefix('-') {
            Some(name) => (name, false),
            None => (item.strip_prefix('+').unwrap_or(item), true),
        };
        if name == "*" {
            all = is_on;
            continue;
        }
        let position = CONTROLLERS
            .iter()
            .position(|controller| controller.name == name || controller.aliases.contains(&name));
        let position = position.ok_or_else(|| UnknownController {
            name: name.to_owned(),
        })?;
        // As upstream, the first mention decides.
        chosen[position].get_or_insert(is_on);
    }
    let selected = CONTROLLERS.iter().zip(chosen);
    Ok(selected
        .filter(|(_, chosen)| chosen.unwrap_or(all))
        .map(|(controller, _)| *controller)
        .collect())
}

fn names() -> Vec<&'static str> {
    CONTROLLERS.iter().map(|controller| controller.name).collect()
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(text: &str) -> Vec<&'static str> {
        let controllers = select(text).unwrap();
        controllers.iter().map(|controller| controller.name).collect()
    }

    #[test]
    fn names_aliases_and_stars_select_as_upstream_does() {
        assert_eq!(selected("*"), names());
        assert_eq!(selected(""), [""; 0]);
        assert_eq!(selected("serviceaccount"), ["serviceaccount-controller"]);
        assert_eq!(
            selected("+serviceaccount-controller"),
            ["serviceaccount-controller"]
        );
        let but_one: Vec<_> = names()
            .into_iter()
            .filter(|name| *name != "serviceaccount-controller")
            .collect();
        assert_eq!(selected("*,-serviceaccount"), but_one);
        assert_eq!(selected("-serviceaccount,*"), but_one);
    }

    #[test]
    fn unknown_names_are_an_error_with_the_list() {
        let error = select("*,-foo").unwrap_err();
        assert_eq!(error.name, "foo");
        assert!(error.to_string().contains("serviceaccount-controller"), "{error}");
    }

    #[test]
    fn names_and_aliases_are_unique() {
        let mut all: Vec<_> = CONTROLLERS
            .iter()
            .flat_map(|controller| std::iter::once(&controller.name).chain(controller.aliases))
            .collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}

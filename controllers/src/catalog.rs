//! The controllers by their names, as kube-controller-manager lists them. `registration` has what each registers.

use std::fmt;

/// A controller: its name, and what it was called before.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Controller {
    /// The name, also that of the runtime's controller: in logs, metrics and the user agent.
    pub name: &'static str,
    /// Former names, which `--controllers` accepts as well.
    pub aliases: &'static [&'static str],
    /// The service account as which it acts with `--use-service-account-credentials`: that of upstream's, which API servers have roles for. None:
    /// it acts as the manager.
    pub service_account: Option<&'static str>,
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
        service_account: None,
    },
    #[cfg(feature = "core")]
    Controller {
        name: "root-ca-certificate-publisher-controller",
        aliases: &["root-ca-cert-publisher"],
        service_account: Some("root-ca-cert-publisher"),
    },
    #[cfg(feature = "core")]
    Controller {
        name: "legacy-serviceaccount-token-cleaner-controller",
        aliases: &["legacy-service-account-token-cleaner"],
        service_account: Some("legacy-service-account-token-cleaner"),
    },
    #[cfg(feature = "core")]
    Controller {
        name: "serviceaccount-controller",
        aliases: &["serviceaccount"],
        service_account: Some("service-account-controller"),
    },
    #[cfg(feature = "core")]
    Controller {
        name: "namespace-controller",
        aliases: &["namespace"],
        service_account: Some("namespace-controller"),
    },
    #[cfg(feature = "gc")]
    Controller {
        name: "garbage-collector-controller",
        aliases: &["garbagecollector"],
        service_account: Some("generic-garbage-collector"),
    },
    #[cfg(feature = "gc")]
    Controller {
        name: "pod-garbage-collector-controller",
        aliases: &["podgc"],
        service_account: Some("pod-garbage-collector"),
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "daemonset-controller",
        aliases: &["daemonset"],
        service_account: Some("daemon-set-controller"),
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "deployment-controller",
        aliases: &["deployment"],
        service_account: Some("deployment-controller"),
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "job-controller",
        aliases: &["job"],
        service_account: Some("job-controller"),
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "replicaset-controller",
        aliases: &["replicaset"],
        service_account: Some("replicaset-controller"),
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "replicationcontroller-controller",
        aliases: &["replicationcontroller"],
        service_account: Some("replication-controller"),
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "statefulset-controller",
        aliases: &["statefulset"],
        service_account: Some("statefulset-controller"),
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "cronjob-controller",
        aliases: &["cronjob"],
        service_account: Some("cronjob-controller"),
    },
    #[cfg(feature = "workloads")]
    Controller {
        name: "ttl-after-finished-controller",
        aliases: &["ttl-after-finished"],
        service_account: Some("ttl-after-finished-controller"),
    },
];

/// The other controllers of kube-controller-manager v1.36, with their former names. Selecting one is not an error, so that its command lines can be
/// used; nothing runs.
const ABSENT: &[(&str, &str)] = &[
    ("bootstrap-signer-controller", "bootstrapsigner"),
    ("certificatesigningrequest-approving-controller", "csrapproving"),
    ("certificatesigningrequest-cleaner-controller", "csrcleaner"),
    ("certificatesigningrequest-signing-controller", "csrsigning"),
    ("cloud-node-lifecycle-controller", "cloud-node-lifecycle"),
    ("clusterrole-aggregation-controller", "clusterrole-aggregation"),
    ("device-taint-eviction-controller", ""),
    ("disruption-controller", "disruption"),
    ("endpoints-controller", "endpoint"),
    ("endpointslice-controller", "endpointslice"),
    ("endpointslice-mirroring-controller", "endpointslicemirroring"),
    ("ephemeral-volume-controller", "ephemeral-volume"),
    ("horizontal-pod-autoscaler-controller", "horizontalpodautoscaling"),
    (
        "kube-apiserver-serving-clustertrustbundle-publisher-controller",
        "",
    ),
    ("node-ipam-controller", "nodeipam"),
    ("node-lifecycle-controller", "nodelifecycle"),
    ("node-route-controller", "route"),
    ("persistentvolume-attach-detach-controller", "attachdetach"),
    ("persistentvolume-binder-controller", "persistentvolume-binder"),
    (
        "persistentvolume-expander-controller",
        "persistentvolume-expander",
    ),
    ("persistentvolume-protection-controller", "pv-protection"),
    ("persistentvolumeclaim-protection-controller", "pvc-protection"),
    ("podcertificaterequest-cleaner-controller", ""),
    ("podgroup-protection-controller", ""),
    ("resourceclaim-controller", "resource-claim-controller"),
    ("resourcepoolstatusrequest-controller", ""),
    ("resourcequota-controller", "resourcequota"),
    ("selinux-warning-controller", ""),
    ("service-cidr-controller", ""),
    ("service-lb-controller", "service"),
    ("storage-version-migrator-controller", "svm"),
    (
        "storageversion-garbage-collector-controller",
        "storage-version-gc",
    ),
    ("taint-eviction-controller", ""),
    ("token-cleaner-controller", "tokencleaner"),
    ("ttl-controller", "ttl"),
    ("validatingadmissionpolicy-status-controller", ""),
    ("volumeattributesclass-protection-controller", ""),
];

/// Returns the controllers that a text selects, such as `*,-foo,bar`, with kube-controller-manager's rules: `*` is all, `-name` all but that
/// one, a name alone that one. Names count before `*`, in any order. Names may be aliases. Controllers of upstream's that this library lacks are
/// left out; [`absent`] returns them.
pub fn select(text: &str) -> Result<Vec<Controller>, UnknownController> {
    let mut chosen = vec![None; CONTROLLERS.len()];
    let mut all = false;
    for (name, is_on) in items(text) {
        if name == "*" {
            all = is_on;
            continue;
        }
        if is_absent(name) {
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

/// Returns the names in a selection that are controllers of kube-controller-manager, and not of this library, as it was built.
pub fn absent(text: &str) -> Vec<&str> {
    let switched_on = items(text).filter(|(name, is_on)| *is_on && is_absent(name));
    switched_on.map(|(name, _)| name).collect()
}

/// Returns the names of a selection, and whether each is switched on.
fn items(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    items.map(|item| match item.strip_prefix('-') {
        Some(name) => (name, false),
        None => (item.strip_prefix('+').unwrap_or(item), true),
    })
}

fn is_absent(name: &str) -> bool {
    let mut absent = ABSENT.iter();
    !name.is_empty() && absent.any(|(known, alias)| *known == name || *alias == name)
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
    fn controllers_that_are_absent_here_can_be_selected_and_are_returned() {
        assert_eq!(selected("*,bootstrapsigner,token-cleaner-controller"), names());
        assert_eq!(absent("*,bootstrapsigner,-disruption,foo"), ["bootstrapsigner"]);
        assert!(ABSENT.iter().all(|(name, _)| !names().contains(name)));
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

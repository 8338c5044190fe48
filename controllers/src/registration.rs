//! What each controller of the catalog registers.

use kubewright::controller::Setup;

use crate::{options::Options, shared::invalid_objects::InvalidObjects};

/// Registers the selected controllers. They share the informers of the operator; each has a client of its own.
pub fn register(setup: &mut Setup, options: &Options) {
    let invalid = InvalidObjects::register(setup.metrics());
    for controller in &options.controllers {
        let name = controller.name;
        // Other crates cannot make a `Controller`, and a test shows that the catalog and this table have the same names.
        let Some((_, register)) = REGISTER.iter().find(|(known, _)| *known == name) else {
            unreachable!("controller {name:?} of the catalog has no function that registers it");
        };
        setup.component(name, |setup| {
            setup.service_account(controller.service_account);
            register(setup, options, &invalid);
        });
    }
}

type Register = fn(&mut Setup, &Options, &InvalidObjects);

/// The name of each controller, in the order of the catalog, and the function that registers it.
const REGISTER: &[(&str, Register)] = &[
    #[cfg(feature = "core")]
    ("serviceaccount-token-controller", |setup, options, _| {
        crate::service_account_token::register(setup, options);
    }),
    #[cfg(feature = "core")]
    ("root-ca-certificate-publisher-controller", |setup, options, _| {
        crate::root_ca::register(setup, options);
    }),
    #[cfg(feature = "core")]
    (
        "legacy-serviceaccount-token-cleaner-controller",
        |setup, options, _| crate::legacy_token_cleaner::register(setup, options),
    ),
    #[cfg(feature = "core")]
    ("serviceaccount-controller", |setup, options, _| {
        crate::service_account::register(setup, options);
    }),
    #[cfg(feature = "core")]
    ("namespace-controller", |setup, options, _| {
        crate::namespace::register(setup, options);
    }),
    #[cfg(feature = "gc")]
    ("garbage-collector-controller", crate::garbage_collector::register),
    #[cfg(feature = "gc")]
    ("pod-garbage-collector-controller", |setup, options, _| {
        crate::pod_garbage_collector::register(setup, options);
    }),
    #[cfg(feature = "workloads")]
    ("daemonset-controller", crate::daemon_set::register),
    #[cfg(feature = "workloads")]
    ("deployment-controller", crate::deployment::register),
    #[cfg(feature = "workloads")]
    ("job-controller", crate::job::register),
    #[cfg(feature = "workloads")]
    ("replicaset-controller", crate::replica_set::register_replica_sets),
    #[cfg(feature = "workloads")]
    (
        "replicationcontroller-controller",
        crate::replica_set::register_replication_controllers,
    ),
    #[cfg(feature = "workloads")]
    ("statefulset-controller", crate::stateful_set::register),
    #[cfg(feature = "workloads")]
    ("cronjob-controller", crate::cron_job::register),
    #[cfg(feature = "workloads")]
    ("ttl-after-finished-controller", |setup, options, _| {
        crate::ttl_after_finished::register(setup, options);
    }),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::CONTROLLERS;

    #[test]
    fn every_controller_of_the_catalog_has_a_function() {
        let names: Vec<_> = REGISTER.iter().map(|(name, _)| *name).collect();
        let catalog: Vec<_> = CONTROLLERS.iter().map(|controller| controller.name).collect();
        assert_eq!(names, catalog);
    }
}

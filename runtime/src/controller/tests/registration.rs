//! Registration: permissions, warnings and errors.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    core::v1::Node,
    rbac::v1::PolicyRule,
};
use tokio_util::sync::CancellationToken;

use super::{super::*, Nothing};
use crate::{
    Kind as _,
    cache::HandlerOptions,
    client::{All, Connection, Create, Get, Patch, UpdateStatus},
    events::{EventsApi, Recorder},
    workqueue::{WorkQueue, default_limiter},
};

fn setup(args: &[&str]) -> Setup {
    let (recorder, _) = Recorder::pipeline("shop");
    Setup::new("shop", Connection::late(), recorder, FixedArgs::new(args))
}

#[tokio::test]
async fn event_permission_is_that_of_the_chosen_api() {
    for (chosen, group) in [(None, "events.k8s.io"), (Some(EventsApi::Core), "")] {
        let mut setup = setup(&[]);
        let recorder = setup.recorder();
        if let Some(api) = chosen {
            setup.events_api(api);
        }
        assert_eq!(recorder.api().group(), group);
        let permissions = setup.permissions();
        let events = permissions.iter().find(|unit| unit.unit == "events").unwrap();
        assert_eq!(events.api_groups, [group]);
    }
}

/// API servers accept events about cluster-scoped objects in `default` only, so a namespaced operator writes them there.
#[tokio::test]
async fn events_about_a_cluster_scoped_primary_kind_need_a_permission_in_default() {
    let places = |cluster_scoped: bool, records: bool| -> Vec<PermissionScope> {
        let mut setup = setup(&[]);
        let (nodes, deployments) = (
            setup.informers().of::<Node>(),
            setup.informers().of::<Deployment>(),
        );
        if records {
            let _ = setup.recorder();
        }
        let controller = setup.controller("shop", Nothing);
        if cluster_scoped {
            controller.reconciles(&nodes);
        } else {
            controller
                .reconciles(&deployments)
                .watches(&nodes, |_| Vec::new());
        }
        let permissions = setup.permissions();
        let events = permissions
            .iter()
            .filter(|unit| unit.resources == ["events"] && unit.verbs == ["create", "patch"]);
        events.map(|unit| unit.scope).collect()
    };
    assert_eq!(
        places(true, true),
        [PermissionScope::Watched, PermissionScope::DefaultNamespace]
    );
    assert_eq!(places(false, true), [PermissionScope::Watched]);
    assert_eq!(places(true, false), []);
}

#[tokio::test]
async fn component_without_a_recorder_needs_no_events_in_default() {
    let scopes = |recording: &[&str]| -> Vec<PermissionScope> {
        let mut setup = setup(&[]);
        for component in ["nodes", "deployments"] {
            setup.component(component, |setup| {
                if recording.contains(&component) {
                    let _ = setup.recorder();
                }
                let informers = setup.informers().clone();
                let controller = setup.controller(component, Nothing);
                if component == "nodes" {
                    controller.reconciles(&informers.of::<Node>());
                } else {
                    controller.reconciles(&informers.of::<Deployment>());
                }
            });
        }
        if recording.contains(&"the operator") {
            let _ = setup.recorder();
        }
        let permissions = setup.permissions();
        let events = permissions.iter().filter(|unit| unit.resources == ["events"]);
        events.map(|unit| unit.scope).collect()
    };
    let everywhere = [PermissionScope::Watched, PermissionScope::DefaultNamespace];
    assert_eq!(scopes(&["deployments"]), [PermissionScope::Watched]);
    assert_eq!(scopes(&["nodes", "deployments"]), everywhere);
    assert_eq!(scopes(&["the operator"]), everywhere);
}

#[tokio::test]
async fn permissions_follow_from_what_was_registered() {
    let mut setup = setup(&[]);
    let (deployments, nodes) = (
        setup.informers().of::<Deployment>(),
        setup.informers().of::<Node>(),
    );
    let owned = setup.informers().of::<ReplicaSet>();
    let _ = setup.client::<Deployment, (UpdateStatus,)>();
    let _ = setup.client::<ReplicaSet, (Create, Patch)>();
    let _ = setup.client::<ReplicaSet, (Create,)>();
    let _ = setup.recorder();
    setup.needs(PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["secrets".to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    });
    setup
        .controller("shop", Nothing)
        .reconciles(&deployments)
        .owns(&owned)
        .watches(&nodes, |_| Vec::new());
    assert_eq!(setup.errors(), []);
    assert!(setup.warnings().is_empty());
    let permissions: Vec<_> = setup
        .permissions()
        .into_iter()
        .map(|unit| {
            (
                unit.unit,
                unit.scope,
                format!("{}: {}", unit.resources.join(","), unit.verbs.join(",")),
            )
        })
        .collect();
    let expected = [
        (
            "client Deployment UpdateStatus",
            PermissionScope::Watched,
            "deployments/status: update",
        ),
        (
            "client ReplicaSet Create",
            PermissionScope::Watched,
            "replicasets: create",
        ),
        (
            "client ReplicaSet Patch",
            PermissionScope::Watched,
            "replicasets: patch",
        ),
        ("events", PermissionScope::Watched, "events: create,patch"),
        (
            "informer Deployment",
            PermissionScope::Watched,
            "deployments: list,watch",
        ),
        ("informer Node", PermissionScope::Cluster, "nodes: list,watch"),
        (
            "informer ReplicaSet",
            PermissionScope::Watched,
            "replicasets: list,watch",
        ),
        ("needs get secrets", PermissionScope::Watched, "secrets: get"),
        (
            "owner Deployment",
            PermissionScope::Watched,
            "deployments/finalizers: update",
        ),
    ];
    assert_eq!(
        permissions,
        expected.map(|(unit, place, what)| (unit.to_owned(), place, what.to_owned()))
    );
}

#[tokio::test]
async fn all_verbs_cause_a_warning() {
    let mut setup = setup(&[]);
    let _ = setup.client::<Deployment, All>();
    let _ = setup.client::<Deployment, (Get,)>();
    assert_eq!(setup.warnings().len(), 1);
    assert!(
        setup.warnings()[0].contains("Deployment"),
        "{:?}",
        setup.warnings()
    );
}

#[tokio::test]
async fn registration_errors_name_the_controller_and_the_fix() {
    let mut setup = setup(&[]);
    let (deployments, nodes) = (
        setup.informers().of::<Deployment>(),
        setup.informers().of::<Node>(),
    );
    setup.controller("none", Nothing);
    setup
        .controller("two", Nothing)
        .reconciles(&deployments)
        .reconciles(&nodes);
    setup
        .controller("two", Nothing)
        .reconciles(&deployments)
        .owns(&nodes)
        .workers(0);
    setup
        .controller("no good", Nothing)
        .reconciles(&nodes)
        .owns(&deployments);
    setup.runnable("", |_| async { Ok(()) });
    setup.runnable("one", |_| async { Ok(()) }).group("a group");
    let errors: BTreeSet<_> = setup.errors().iter().map(ToString::to_string).collect();
    let expected = [
        "controller \"none\" has no primary kind: call `.reconciles(&informer)` on it",
        "controller \"two\" calls `.reconciles` twice: register a second controller, or use `.watches` for the other kind",
        "controller \"two\" has no workers: `.workers(n)` takes at least 1",
        "controller \"two\": Deployment (apps/v1) is namespaced and cannot own Node (v1), which is cluster-scoped: use `.watches`",
        "two controllers are called \"two\": names must differ",
        "controller \"no good\" needs another name: letters, digits, `-`, `_` and `.`, at least one",
        "runnable \"\" needs another name: letters, digits, `-`, `_` and `.`, at least one",
        "group \"a group\" needs another name: letters, digits, `-`, `_` and `.`, at least one",
    ];
    assert_eq!(errors, expected.map(str::to_owned).into());
    let no_primary = setup.take_controllers().remove(0);
    assert!(ControllerRunner::new(no_primary, Arc::new(NoMetrics)).is_err());
}

#[tokio::test]
async fn expectations_of_two_controllers_are_an_error() {
    let mut setup = setup(&[]);
    let (deployments, sets) = (
        setup.informers().of::<Deployment>(),
        setup.informers().of::<ReplicaSet>(),
    );
    let (shared, own) = (Expectations::new(), Expectations::new());
    let source = || Source::of(&sets).with_expectations(&shared);
    setup
        .controller("one", Nothing)
        .reconciles(&deployments)
        .owns(source())
        .watches(source(), |_| Vec::new());
    assert_eq!(setup.errors(), [], "two sources of one controller may share them");
    setup
        .controller("two", Nothing)
        .reconciles(Source::of(&deployments).with_expectations(&own))
        .owns(source());
    let errors: Vec<_> = setup.errors().iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "controllers \"one\" and \"two\" share one `Expectations`: make one for each with `Expectations::new()`"
        ]
    );
    let expected = setup.errors().remove(0);
    let mut runners = setup
        .take_controllers()
        .into_iter()
        .map(|controller| ControllerRunner::new(controller, Arc::new(NoMetrics)));
    let running = runners.next().unwrap().unwrap();
    assert_eq!(
        runners.next().unwrap().err(),
        Some(expected),
        "the queue of a running controller is not replaced"
    );
    drop(running);
}

#[tokio::test]
async fn informer_that_the_consistency_store_does_not_know_is_an_error() {
    let setup = setup(&[]);
    let source = Source::of(&setup.informers().of::<Deployment>()).erase(source::KeyMapping::Primary);
    let queue = Arc::new(WorkQueue::with_metrics(
        Box::new(default_limiter()),
        Arc::new(NoMetrics),
    ));
    let without_informers = consistency::ConsistencyStore::new(
        "shop",
        queue.clone(),
        Arc::new(NoMetrics),
        (Duration::ZERO, OwnEvents::Ignore),
        &[],
    );
    let target = source_target::SourceTarget {
        controller: "shop".into(),
        primary: Deployment::info(),
        queue,
        consistency: without_informers,
        options: HandlerOptions::default(),
        factory: None,
    };
    let handler = enqueue::EnqueueHandler::new(source, &target);
    assert_eq!(
        handler.err().map(|error| error.to_string()).as_deref(),
        Some(
            "controller \"shop\" has an informer of Deployment (apps/v1) that its consistency store does not know: \
             make informers with `setup.informers()`"
        )
    );
}

#[tokio::test]
async fn own_flags_of_the_operator_are_parsed() {
    #[derive(clap::Args)]
    struct Flags {
        #[arg(long, default_value = "eu")]
        region: String,
    }
    assert_eq!(setup(&["--region", "us"]).args::<Flags>().region, "us");
    assert_eq!(setup(&[]).args::<Flags>().region, "eu");
}

#[tokio::test]
async fn runnables_keep_their_options() {
    let mut setup = setup(&[]);
    setup
        .runnable("connect", |_| async { Err("no database".into()) })
        .before_controllers();
    setup
        .runnable("serve", |stop| async move {
            stop.cancelled().await;
            Ok(())
        })
        .leader_only();
    let [connect, serve] = <[Runnable; 2]>::try_from(setup.take_runnables()).unwrap();
    assert!(connect.is_before_controllers() && !connect.is_leader_only());
    assert!(serve.is_leader_only() && !serve.is_before_controllers());
    let stop = CancellationToken::new();
    assert_eq!(
        connect.run(stop.clone()).await.unwrap_err().to_string(),
        "no database"
    );
    stop.cancel();
    serve.run(stop).await.unwrap();
}

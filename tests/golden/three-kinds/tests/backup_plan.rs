//! How the operator is tested without a cluster: one reconcile at a time, its requests compared; then the whole operator, beside an API
//! server in the test's own process.

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Client, CustomResourceExt};
use kubewright::Manager;
use kubewright::serde_json::json;
use kubewright::testing::Harness;
use kubewright_testkit::{Cluster, Failure, Fault, PermissionUnit, RequestMatcher, until};
use shop::api::prelude::*;
use shop::controllers::BackupPlanController;

const KEY: &str = "default/example";

fn backup_plan() -> BackupPlan {
    let spec = BackupPlanSpec {
        deployment_name: "web".to_owned(),
        replicas: 3,
    };
    BackupPlan::new("example", spec)
}

/// A BackupPlan as informers bring it.
fn stored() -> BackupPlan {
    let mut backup_plan = backup_plan();
    backup_plan.metadata.namespace = Some("default".to_owned());
    backup_plan.metadata.uid = Some("1".to_owned());
    backup_plan.metadata.resource_version = Some("1".to_owned());
    backup_plan.metadata.generation = Some(1);
    backup_plan
}

fn events(test: &Harness) -> Vec<String> {
    let events = test.events().into_iter();
    events.map(|event| event.reason).collect()
}

#[tokio::test]
async fn applies_the_deployment_and_reports() {
    let test = Harness::new(BackupPlanController::register);
    test.seed(&stored());

    test.reconcile(KEY).await.unwrap();

    let sent = test.requests();
    let [apply, update] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    assert_eq!(apply.to_string(), "apply deployments.apps default/web");
    assert_eq!(apply.body["spec"]["replicas"], 3);
    assert_eq!(apply.body["metadata"]["ownerReferences"][0]["uid"], "1");
    assert_eq!(
        update.to_string(),
        format!("update backupplans.demo.dev/status {KEY}")
    );
    assert_eq!(update.body["status"]["observedGeneration"], 1);
    assert_eq!(events(&test), ["Created"]);

    // Once its status is in the cache, there is nothing left to say but how the Deployment shall be.
    let mut reported = update.body.clone();
    reported["metadata"]["resourceVersion"] = json!("2");
    test.seed(&reported);
    test.reconcile(KEY).await.unwrap();
    let sent = test.requests();
    assert_eq!(sent.len(), 1, "{sent:?}");
}

#[tokio::test]
async fn leaves_the_deployment_of_somebody_else_alone() {
    let test = Harness::new(BackupPlanController::register);
    test.seed(&stored());
    test.seed(&json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "uid": "2", "resourceVersion": "2"},
        "spec": {"selector": {}, "template": {}}
    }));

    test.reconcile(KEY).await.unwrap_err();

    assert_eq!(test.requests(), []);
    assert_eq!(events(&test), ["NotOwned"]);
}

/// The whole operator, under exactly the rights that its code asks for, and an API server of its own.
struct World {
    cluster: Cluster,
    rights: Vec<PermissionUnit>,
    /// Who the operator is to the API server.
    user: String,
    // As the administrator:
    backup_plans: Api<BackupPlan>,
    deployments: Api<Deployment>,
}

impl World {
    async fn start() -> Self {
        let cluster = Cluster::embedded().unwrap();
        cluster.install_crd(&BackupPlan::crd()).unwrap();

        let permissions = Harness::new(BackupPlanController::register)
            .setup()
            .permissions();
        let rights = PermissionUnit::from_permissions(&permissions, "default").unwrap();
        let operator = cluster.operator("operator", &rights).unwrap();
        let manager = Manager::new("operator")
            .with_config(operator.config().await.unwrap())
            .with_args(["--health-bind-address=0", "--metrics-bind-address=0"])
            .register(BackupPlanController::register);
        tokio::spawn(async { manager.run().await.unwrap() });

        let client = Client::try_from(cluster.admin().config().await.unwrap()).unwrap();
        Self {
            cluster,
            rights,
            user: operator.user().to_owned(),
            backup_plans: Api::default_namespaced(client.clone()),
            deployments: Api::default_namespaced(client),
        }
    }

    /// Creates a BackupPlan and waits for its Deployment.
    async fn create(&self) -> Deployment {
        self.backup_plans
            .create(&PostParams::default(), &backup_plan())
            .await
            .unwrap();
        until("there is a Deployment", || self.deployments.get("web")).await
    }

    async fn status(&self) -> Option<BackupPlanStatus> {
        self.backup_plans.get("example").await.unwrap().status
    }
}

#[tokio::test]
async fn becomes_ready_with_its_deployment() {
    let world = World::start().await;
    let deployment = world.create().await;
    assert_eq!(deployment.spec.unwrap().replicas, Some(3));

    // Nothing runs pods here: the test says what a cluster would.
    let running = json!({"status": {"replicas": 3, "readyReplicas": 3, "availableReplicas": 3}});
    let (params, patch) = (PatchParams::default(), Patch::Merge(&running));
    world
        .deployments
        .patch_status("web", &params, &patch)
        .await
        .unwrap();
    until("the BackupPlan is ready", async || {
        let status = world.status().await?;
        (status.available_replicas == 3 && status.conditions[0].status == "True").then_some(())
    })
    .await;
}

#[tokio::test]
async fn tries_again_after_a_conflict() {
    let world = World::start().await;
    let update = RequestMatcher::verb("update").resource("backupplans/status");
    let conflict = world
        .cluster
        .faults()
        .once(update, Fault::Respond(Failure::conflict()));

    world.create().await;
    until("the status is written", || world.status()).await;
    assert_eq!(conflict.hits(), 1);
}

#[tokio::test]
async fn finds_out_what_a_broken_watch_missed() {
    let world = World::start().await;
    let before = world.create().await;

    // The Deployment goes while the watch is stuck; when the watch breaks, the API server has forgotten that it went.
    let (faults, watch) = (
        world.cluster.faults(),
        RequestMatcher::watch("deployments").user(&world.user),
    );
    faults.hold_events(watch.clone());
    world
        .deployments
        .delete("web", &DeleteParams::default())
        .await
        .unwrap();
    assert_eq!(world.cluster.expire_watches(&watch).unwrap(), 1);
    faults.release_events(&watch);

    let after = until("there is a Deployment again", || {
        world.deployments.get("web")
    })
    .await;
    assert_ne!(before.metadata.uid, after.metadata.uid);
}

#[tokio::test]
async fn deployment_goes_with_its_owner() {
    let world = World::start().await;
    world.create().await;
    world
        .backup_plans
        .delete("example", &DeleteParams::default())
        .await
        .unwrap();
    until("the Deployment is gone", async || {
        world.deployments.get_opt("web").await.unwrap().is_none()
    })
    .await;
}

/// Nothing that the operator asks for is forbidden, and it may do nothing that it does not do.
#[tokio::test]
async fn has_exactly_the_rights_that_it_uses() {
    let world = World::start().await;
    world.create().await;
    until("every right is used", async || {
        let audit = world.cluster.audit().unwrap();
        audit.check_exact(&world.rights, &world.user)
    })
    .await;
}

//! Tests of the operator without a cluster: single reconciles with the requests that they send, and the whole operator against an
//! in-process API server.

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Client, CustomResourceExt};
use kubewright::Manager;
use kubewright::serde_json::json;
use kubewright::testing::Harness;
use kubewright_testkit::{Cluster, Failure, Fault, PermissionUnit, RequestMatcher, until};
use shop::api::prelude::*;
use shop::controllers::DNSPolicyController;

const KEY: &str = "example";

fn dns_policy() -> DNSPolicy {
    let spec = DNSPolicySpec {
        deployment_namespace: "default".to_owned(),
        deployment_name: "web".to_owned(),
        replicas: 3,
    };
    DNSPolicy::new("example", spec)
}

/// Returns a DNSPolicy as it is in the cache.
fn stored() -> DNSPolicy {
    let mut dns_policy = dns_policy();
    dns_policy.metadata.uid = Some("1".to_owned());
    dns_policy.metadata.resource_version = Some("1".to_owned());
    dns_policy.metadata.generation = Some(1);
    dns_policy
}

fn events(test: &Harness) -> Vec<String> {
    let events = test.events().into_iter();
    events.map(|event| event.reason).collect()
}

#[tokio::test]
async fn applies_the_deployment_and_reports() {
    let test = Harness::new(DNSPolicyController::register);
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
        format!("update dnspolicies.net.demo.dev/status {KEY}")
    );
    assert_eq!(update.body["status"]["observedGeneration"], 1);
    assert_eq!(events(&test), ["Created"]);

    // With the status in the cache, only the Deployment is applied.
    let mut reported = update.body.clone();
    reported["metadata"]["resourceVersion"] = json!("2");
    test.seed(&reported);
    test.reconcile(KEY).await.unwrap();
    let sent = test.requests();
    assert_eq!(sent.len(), 1, "{sent:?}");
}

#[tokio::test]
async fn does_not_change_a_foreign_deployment() {
    let test = Harness::new(DNSPolicyController::register);
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

/// A running operator with exactly its generated permissions, and its own API server.
struct TestEnvironment {
    cluster: Cluster,
    permissions: Vec<PermissionUnit>,
    /// The operator's user name at the API server.
    user: String,
    // Clients of the administrator:
    dns_policies: Api<DNSPolicy>,
    deployments: Api<Deployment>,
}

impl TestEnvironment {
    async fn start() -> Self {
        let cluster = Cluster::embedded().unwrap();
        cluster.install_crd(&DNSPolicy::crd()).unwrap();

        let permissions = Harness::new(DNSPolicyController::register)
            .setup()
            .permissions();
        let permissions = PermissionUnit::from_permissions(&permissions, "default").unwrap();
        let operator = cluster.operator("operator", &permissions).unwrap();
        let manager = Manager::new("operator")
            .with_config(operator.config().await.unwrap())
            .with_args(["--health-bind-address=0", "--metrics-bind-address=0"])
            .register(DNSPolicyController::register);
        tokio::spawn(async { manager.run().await.unwrap() });

        let client = Client::try_from(cluster.admin().config().await.unwrap()).unwrap();
        Self {
            cluster,
            permissions,
            user: operator.user().to_owned(),
            dns_policies: Api::all(client.clone()),
            deployments: Api::default_namespaced(client),
        }
    }

    /// Creates a DNSPolicy and waits for its Deployment.
    async fn create(&self) -> Deployment {
        self.dns_policies
            .create(&PostParams::default(), &dns_policy())
            .await
            .unwrap();
        until("there is a Deployment", || self.deployments.get("web")).await
    }

    async fn status(&self) -> Option<DNSPolicyStatus> {
        self.dns_policies.get("example").await.unwrap().status
    }
}

#[tokio::test]
async fn becomes_ready_with_its_deployment() {
    let test = TestEnvironment::start().await;
    let deployment = test.create().await;
    assert_eq!(deployment.spec.unwrap().replicas, Some(3));

    // No pods run here: the test writes the status that a cluster would.
    let running = json!({"status": {"replicas": 3, "readyReplicas": 3, "availableReplicas": 3}});
    let (params, patch) = (PatchParams::default(), Patch::Merge(&running));
    test.deployments
        .patch_status("web", &params, &patch)
        .await
        .unwrap();
    until("the DNSPolicy is ready", async || {
        let status = test.status().await?;
        (status.available_replicas == 3 && status.conditions[0].status == "True").then_some(())
    })
    .await;
}

#[tokio::test]
async fn retries_after_a_conflict() {
    let test = TestEnvironment::start().await;
    let update = RequestMatcher::verb("update").resource("dnspolicies/status");
    let conflict = test
        .cluster
        .faults()
        .once(update, Fault::Respond(Failure::conflict()));

    test.create().await;
    until("the status is written", || test.status()).await;
    assert_eq!(conflict.hits(), 1);
}

#[tokio::test]
async fn relists_after_a_broken_watch() {
    let test = TestEnvironment::start().await;
    let before = test.create().await;

    // Delete the Deployment while the watch is blocked, then expire the watch: only a relist shows the deletion.
    let (faults, watch) = (
        test.cluster.faults(),
        RequestMatcher::watch("deployments").user(&test.user),
    );
    faults.hold_events(watch.clone());
    test.deployments
        .delete("web", &DeleteParams::default())
        .await
        .unwrap();
    assert_eq!(test.cluster.expire_watches(&watch).unwrap(), 1);
    faults.release_events(&watch);

    let after = until("there is a Deployment again", || {
        test.deployments.get("web")
    })
    .await;
    assert_ne!(before.metadata.uid, after.metadata.uid);
}

#[tokio::test]
async fn deployment_is_deleted_with_its_owner() {
    let test = TestEnvironment::start().await;
    test.create().await;
    test.dns_policies
        .delete("example", &DeleteParams::default())
        .await
        .unwrap();
    until("the Deployment is gone", async || {
        test.deployments.get_opt("web").await.unwrap().is_none()
    })
    .await;
}

/// No request of the operator is forbidden, and no permission is unused.
#[tokio::test]
async fn uses_exactly_its_permissions() {
    let test = TestEnvironment::start().await;
    test.create().await;
    until("every permission is used", async || {
        let audit = test.cluster.audit().unwrap();
        audit.check_exact(&test.permissions, &test.user)
    })
    .await;
}

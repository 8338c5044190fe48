//! An API server without housekeeping of its own, and the controllers; or one with it.

use std::time::Duration;

use http::Method;
use kubewright::testing::TestOperator;
use kubewright_apiserver::{ApiServer, HousekeepingTask};
use kubewright_controllers::{Knobs, Options, register};
use kubewright_testkit::{Cluster, ControlPlane, Identity};
use serde_json::{Value, json};

/// What deletes dependents, and the content of namespaces.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Collector {
    Controllers,
    /// The embedded API server's housekeeping.
    ApiServer,
}

pub(crate) struct Scenario {
    collector: Collector,
    pub(crate) cluster: Cluster,
    pub(crate) identity: Identity,
    options: Options,
    operator: Option<TestOperator>,
}

impl Scenario {
    pub(crate) async fn start(collector: Collector, controllers: &str) -> Self {
        let mut scenario = match collector {
            Collector::Controllers => Self::without_controllers(controllers),
            Collector::ApiServer => Self {
                collector,
                ..Self::on(Cluster::embedded().unwrap(), controllers)
            },
        };
        scenario.start_controllers().await;
        scenario
    }

    pub(crate) fn without_controllers(controllers: &str) -> Self {
        let server = ApiServer::builder().housekeeping(&HousekeepingTask::BESIDE_CONTROLLER_MANAGER);
        let cluster = Cluster::start_embedded(server).unwrap();
        Self::on(cluster, controllers)
    }

    /// On the real API server, without kube-controller-manager.
    pub(crate) fn on_real(controllers: &str) -> Self {
        Self::on(Cluster::start_real(ControlPlane::builder()).unwrap(), controllers)
    }

    fn on(cluster: Cluster, controllers: &str) -> Self {
        let options = Options {
            namespace_grace_period: Duration::ZERO,
            ..Options::default().select(controllers).unwrap()
        };
        let permissions = TestOperator::permissions(|setup| register(setup, &options));
        let identity = cluster.operator("manager", &permissions).unwrap();
        Self {
            collector: Collector::Controllers,
            cluster,
            identity,
            options,
            operator: None,
        }
    }

    pub(crate) async fn start_controllers(&mut self) {
        if self.collector == Collector::ApiServer {
            return;
        }
        let config = self.identity.config().await.unwrap();
        let options = self.options.clone();
        self.operator = Some(TestOperator::start(config, move |setup| {
            register(setup, &options);
        }));
    }

    /// Sets knobs, before the controllers start.
    pub(crate) fn set_knobs(&mut self, knobs: &Value) {
        self.options.knobs = Knobs::parse(&knobs.to_string()).unwrap();
    }

    /// Sets how many ended pods are kept, before the controllers start.
    pub(crate) fn keep_ended_pods(&mut self, count: usize) {
        self.options.terminated_pod_gc_threshold = count;
    }

    pub(crate) fn apply(&self, object: &Value) -> Value {
        self.cluster.apply(object).unwrap()
    }

    /// Deletes a ConfigMap with a propagation policy.
    pub(crate) fn delete_with(&self, object: &Value, policy: &str) {
        let name = object["metadata"]["name"].as_str().unwrap();
        let path = format!("/api/v1/namespaces/shop/configmaps/{name}?propagationPolicy={policy}");
        self.cluster
            .request(Method::DELETE, &path, "application/json", None)
            .unwrap();
    }

    pub(crate) fn assert_nothing_forbidden(&self) {
        if self.collector == Collector::ApiServer {
            return;
        }
        let audit = self.cluster.audit().unwrap();
        audit.assert_nothing_forbidden(self.identity.user());
    }

    pub(crate) async fn gone(&self, object: &Value) {
        self.cluster.wait_until(object, Value::is_null).await;
    }
}

pub(crate) fn config_map(name: &str) -> Value {
    object("ConfigMap", "shop", name)
}

pub(crate) fn object(kind: &str, namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"namespace": namespace, "name": name}})
}

pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub(crate) fn pod(name: &str) -> Value {
    let mut pod = object("Pod", "shop", name);
    pod["spec"] =
        json!({"containers": [{"name": "main", "image": "busybox"}], "terminationGracePeriodSeconds": 1});
    pod
}

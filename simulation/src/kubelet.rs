//! The kubelets: what becomes of pods that have a node.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::SimulationOptions;
use crate::action::Action;
use crate::cache::ObjectCache;
use crate::kind::Kind;
use crate::nodes::Nodes;
use crate::object::{self, annotation};
use crate::plan::Plan;
use crate::pod_status;
use crate::timers::Timers;

/// The exit code of containers that end on SIGTERM.
const TERMINATED: i64 = 143;

/// The pods of the simulated nodes, and their delays.
pub(crate) struct Kubelets<'a> {
    pub(crate) nodes: &'a Nodes,
    pub(crate) options: SimulationOptions,
    pub(crate) timers: &'a mut Timers,
    pub(crate) now: Instant,
}

impl Kubelets<'_> {
    pub(crate) fn reconcile(&mut self, cache: &ObjectCache, plan: &mut Plan) {
        self.timers
            .retain(&cache.all(Kind::Pod).map(object::uid).collect());
        for pod in cache.all(Kind::Pod) {
            let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
            if !self.nodes.has_kubelet(cache, node) {
                continue;
            }
            if object::is_being_deleted(pod) {
                self.terminate(pod, plan);
            } else if !object::is_finished(pod) {
                let status = self.status(pod, plan);
                plan.update_status(Kind::Pod, pod, status);
            }
        }
    }

    /// Ends a deleted pod. Its status is final before it is gone, which only those see who hold it by a finalizer.
    fn terminate(&mut self, pod: &Value, plan: &mut Plan) {
        if self.waits(pod, "stop", milliseconds(pod, "stop").unwrap_or_default(), plan) {
            return;
        }
        if object::has_finalizers(pod) {
            if !object::is_finished(pod) {
                let status = pod_status::finished(pod, TERMINATED);
                return plan.update_status(Kind::Pod, pod, status);
            }
            if pod["metadata"]["deletionGracePeriodSeconds"] == 0 {
                return;
            }
        }
        plan.push(Action::ForceDelete(pod.clone()));
    }

    fn status(&mut self, pod: &Value, plan: &mut Plan) -> Value {
        if pod["status"]["phase"] == "Running" {
            let always = pod["spec"]["restartPolicy"] == "Always";
            let run = milliseconds(pod, "run").or((!always).then_some(self.options.pod_run));
            let restarts = pod_status::restarts(pod);
            return match run {
                Some(run) if !self.waits(pod, "run", run, plan) => exited(pod, restarts),
                _ => pod_status::running(pod, restarts),
            };
        }
        if let Some(reason) = annotation(pod, "waiting") {
            return pod_status::waiting(pod, reason);
        }
        let start = milliseconds(pod, "start").unwrap_or(self.options.pod_start);
        if self.waits(pod, "start", start, plan) {
            pod_status::waiting(pod, "ContainerCreating")
        } else {
            pod_status::running(pod, 0)
        }
    }

    /// Whether a delay of the pod has not passed. Each restart begins new ones.
    fn waits(&mut self, pod: &Value, timer: &'static str, wait: Duration, plan: &mut Plan) -> bool {
        let timer = (timer, pod_status::restarts(pod));
        let remaining = self.timers.remaining(object::uid(pod), timer, wait, self.now);
        remaining.is_some_and(|remaining| {
            plan.requeue_after(remaining);
            true
        })
    }
}

/// The status after the containers exited: finished, or restarted according to the policy.
fn exited(pod: &Value, restarts: i64) -> Value {
    let code = annotation(pod, "exit-code").and_then(|code| code.parse().ok());
    let code = code.unwrap_or(0);
    let restarts_again = match pod["spec"]["restartPolicy"].as_str() {
        Some("Never") => false,
        Some("OnFailure") => code != 0,
        _ => true,
    };
    if restarts_again {
        pod_status::running(pod, restarts + 1)
    } else {
        pod_status::finished(pod, code)
    }
}

fn milliseconds(pod: &Value, name: &str) -> Option<Duration> {
    annotation(pod, name)?.parse().ok().map(Duration::from_millis)
}

//! The kubelets: what becomes of pods that have a node.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::action::Action;
use crate::cache::ObjectCache;
use crate::kind::Kind;
use crate::nodes::Nodes;
use crate::object::{self, annotation};
use crate::options::SimulationOptions;
use crate::plan::Plan;
use crate::pod_status;
use crate::timers::Timers;

/// The exit code of containers that end on SIGTERM.
const TERMINATED: i64 = 143;
/// The exit code of containers that are killed, as after a failed liveness probe.
const KILLED: i64 = 137;

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
            return self.running(pod, plan);
        }
        if let Some(reason) = annotation(pod, "waiting") {
            return pod_status::waiting(pod, reason);
        }
        let start = milliseconds(pod, "start").unwrap_or(self.options.pod_start);
        if self.waits(pod, "start", start, plan) {
            pod_status::waiting(pod, "ContainerCreating")
        } else {
            let is_ready = self.is_ready(pod, plan);
            pod_status::running(pod, 0, is_ready)
        }
    }

    /// The status of a pod that runs, or whose containers exit now.
    fn running(&mut self, pod: &Value, plan: &mut Plan) -> Value {
        let always = pod["spec"]["restartPolicy"] == "Always";
        let run = milliseconds(pod, "run").or((!always).then_some(self.options.pod_run));
        let ends = run.is_some_and(|run| !self.waits(pod, "run", run, plan));
        let failure = milliseconds(pod, "liveness-failure").filter(|_| has_probe(pod, "livenessProbe"));
        let is_killed = failure.is_some_and(|failure| !self.waits(pod, "liveness-failure", failure, plan));
        if ends {
            let code = annotation(pod, "exit-code").and_then(|code| code.parse().ok());
            exited(pod, code.unwrap_or(0))
        } else if is_killed {
            exited(pod, KILLED)
        } else {
            let is_ready = self.is_ready(pod, plan);
            pod_status::running(pod, pod_status::restarts(pod), is_ready)
        }
    }

    /// Whether the containers that run are ready: their readiness probes succeed after their initial delay.
    fn is_ready(&mut self, pod: &Value, plan: &mut Plan) -> bool {
        let delays = probes(pod, "readinessProbe").map(|probe| probe["initialDelaySeconds"].as_u64());
        let delay = Duration::from_secs(delays.flatten().max().unwrap_or(0));
        !self.waits(pod, "readiness", delay, plan) && annotation(pod, "never-ready") != Some("true")
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
fn exited(pod: &Value, code: i64) -> Value {
    let restarts_again = match pod["spec"]["restartPolicy"].as_str() {
        Some("Never") => false,
        Some("OnFailure") => code != 0,
        _ => true,
    };
    if restarts_again {
        // A readiness probe begins anew.
        let is_ready = !has_probe(pod, "readinessProbe") && annotation(pod, "never-ready") != Some("true");
        pod_status::running(pod, pod_status::restarts(pod) + 1, is_ready)
    } else {
        pod_status::finished(pod, code)
    }
}

/// The probes of a kind of all containers.
fn probes<'p>(pod: &'p Value, kind: &'p str) -> impl Iterator<Item = &'p Value> {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    containers.filter_map(move |container| container.get(kind))
}

fn has_probe(pod: &Value, kind: &str) -> bool {
    probes(pod, kind).next().is_some()
}

fn milliseconds(pod: &Value, name: &str) -> Option<Duration> {
    annotation(pod, name)?.parse().ok().map(Duration::from_millis)
}

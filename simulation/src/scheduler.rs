//! The scheduler.

use std::collections::HashMap;

use serde_json::Value;

use crate::action::Action;
use crate::cache::ObjectCache;
use crate::kind::Kind;
use crate::node_selection::{selects, tolerates};
use crate::object;
use crate::plan::Plan;

/// The scheduler that pods name if they name no other.
const NAME: &str = "default-scheduler";

/// A node, and how many pods it has room for.
struct Candidate<'a> {
    node: &'a Value,
    is_ready: bool,
    pods: usize,
    max_pods: usize,
}

/// Binds pods to nodes. A pod that fits on none gets a condition.
pub(crate) fn reconcile(cache: &ObjectCache, plan: &mut Plan) {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for pod in cache.all(Kind::Pod).filter(|pod| !object::is_finished(pod)) {
        *counts.entry(node_name(pod)).or_default() += 1;
    }
    let candidate = |node| Candidate {
        node,
        is_ready: object::is_condition_true(node, "Ready"),
        pods: counts.get(object::name(node)).copied().unwrap_or_default(),
        max_pods: max_pods(node),
    };
    let mut candidates: Vec<_> = cache.all(Kind::Node).map(candidate).collect();
    for pod in cache.all(Kind::Pod).filter(|pod| is_waiting(pod)) {
        match choose(&mut candidates, pod) {
            Ok(node) => plan.push(Action::Bind(pod.clone(), node.to_owned())),
            Err(message) => {
                let condition = object::make_condition(pod, "PodScheduled", false, "Unschedulable", &message);
                let mut status = pod["status"].clone();
                object::set_condition(&mut status, condition);
                plan.update_status(Kind::Pod, pod, status);
            }
        }
    }
}

fn is_waiting(pod: &Value) -> bool {
    let gates = pod["spec"]["schedulingGates"].as_array();
    node_name(pod).is_empty()
        && pod["spec"]["schedulerName"].as_str().unwrap_or(NAME) == NAME
        && gates.is_none_or(Vec::is_empty)
        && !object::is_being_deleted(pod)
        && !object::is_finished(pod)
}

/// Returns the node with the fewest pods among those that fit, and counts the pod there; or why there is none.
fn choose<'a>(candidates: &mut [Candidate<'a>], pod: &Value) -> Result<&'a str, String> {
    if candidates.is_empty() {
        return Err("no nodes available to schedule pods".to_owned());
    }
    let count = candidates.len();
    let mut chosen: Option<&mut Candidate<'a>> = None;
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for candidate in candidates {
        match candidate.obstacle(pod) {
            Some(reason) => match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, nodes)) => *nodes += 1,
                None => reasons.push((reason, 1)),
            },
            None if chosen.as_ref().is_none_or(|chosen| candidate.pods < chosen.pods) => {
                chosen = Some(candidate);
            }
            None => {}
        }
    }
    if let Some(chosen) = chosen {
        chosen.pods += 1;
        return Ok(object::name(chosen.node));
    }
    let reasons: Vec<_> = reasons
        .iter()
        .map(|(reason, nodes)| format!("{nodes} {reason}"))
        .collect();
    Err(format!("0/{count} nodes are available: {}.", reasons.join(", ")))
}

impl Candidate<'_> {
    /// Returns why the pod does not fit on the node.
    fn obstacle(&self, pod: &Value) -> Option<&'static str> {
        if !tolerates(pod, self.node, self.is_ready) {
            Some("node(s) had untolerated taint(s)")
        } else if !selects(pod, self.node) {
            Some("node(s) didn't match Pod's node affinity/selector")
        } else if self.pods >= self.max_pods {
            Some("Too many pods")
        } else {
            None
        }
    }
}

fn node_name(pod: &Value) -> &str {
    pod["spec"]["nodeName"].as_str().unwrap_or_default()
}

/// A node that does not say how many pods it takes, takes none. API servers write thousands as `10k`.
fn max_pods(node: &Value) -> usize {
    let quantity = &node["status"]["allocatable"]["pods"];
    let text = quantity
        .as_str()
        .map_or_else(|| quantity.to_string(), str::to_owned);
    let (number, factor) = match text.strip_suffix('k') {
        Some(number) => (number, 1000),
        None => (&*text, 1),
    };
    number
        .parse()
        .map_or(0, |number: usize| number.saturating_mul(factor))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cache(nodes: &[Value], pods: &[Value]) -> ObjectCache {
        let mut cache = ObjectCache::default();
        for node in nodes {
            cache.upsert(Kind::Node, node.clone());
        }
        for pod in pods {
            cache.upsert(Kind::Pod, pod.clone());
        }
        cache
    }

    fn node(name: &str, pods: &str) -> Value {
        let conditions = json!([{ "type": "Ready", "status": "True" }]);
        json!({ "metadata": { "name": name }, "status": { "conditions": conditions, "allocatable": { "pods": pods } } })
    }

    fn pod(name: &str, node: &str) -> Value {
        json!({ "metadata": { "namespace": "default", "name": name }, "spec": { "nodeName": node } })
    }

    /// The bindings, and the messages of pods that were not bound.
    fn scheduled(nodes: &[Value], pods: &[Value]) -> Vec<(String, String)> {
        let mut plan = Plan::default();
        reconcile(&cache(nodes, pods), &mut plan);
        let actions = plan.actions.into_iter().map(|action| match action {
            Action::Bind(pod, node) => (object::name(&pod).to_owned(), node),
            Action::UpdateStatus(_, pod) => {
                let condition = &object::condition(&pod, "PodScheduled").unwrap()["message"];
                (
                    object::name(&pod).to_owned(),
                    condition.as_str().unwrap().to_owned(),
                )
            }
            action => panic!("{action:?}"),
        });
        actions.collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        let pair = |(pod, node): &(&str, &str)| ((*pod).to_owned(), (*node).to_owned());
        expected.iter().map(pair).collect()
    }

    #[test]
    fn pods_are_spread_and_full_nodes_take_no_more() {
        let nodes = [node("a", "2"), node("b", "1k")];
        let pods = ["1", "2", "3", "4", "5"].map(|name| pod(name, ""));
        assert_eq!(
            scheduled(&nodes, &pods),
            pairs(&[("1", "a"), ("2", "b"), ("3", "a"), ("4", "b"), ("5", "b")])
        );
        let mut ended = pod("ended", "a");
        ended["status"]["phase"] = json!("Succeeded");
        let pods = [pod("1", "a"), ended, pod("2", "")];
        assert_eq!(scheduled(&nodes[..1], &pods), pairs(&[("2", "a")]));
    }

    #[test]
    fn pod_without_a_node_says_why() {
        let mut cordoned = node("b", "10");
        cordoned["spec"]["unschedulable"] = json!(true);
        let nodes = [node("a", "0"), cordoned];
        let message = "0/2 nodes are available: 1 Too many pods, 1 node(s) had untolerated taint(s).";
        assert_eq!(scheduled(&nodes, &[pod("p", "")]), pairs(&[("p", message)]));
        assert_eq!(
            scheduled(&[], &[pod("p", "")]),
            pairs(&[("p", "no nodes available to schedule pods")])
        );
    }

    #[test]
    fn gated_ended_and_deleted_pods_and_those_of_other_schedulers_are_left_alone() {
        let [mut gated, mut foreign, mut ended, mut deleted] = ["a", "b", "c", "d"].map(|name| pod(name, ""));
        gated["spec"]["schedulingGates"] = json!([{ "name": "hold" }]);
        foreign["spec"]["schedulerName"] = json!("other");
        ended["status"]["phase"] = json!("Failed");
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(
            scheduled(&[node("a", "10")], &[gated, foreign, ended, deleted]),
            []
        );
    }
}

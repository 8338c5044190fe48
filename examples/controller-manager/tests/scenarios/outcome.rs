//! What is compared: lines of objects without what differs in each run, and of events.

use std::{collections::BTreeSet, thread::sleep, time::Duration};

use kubewright_testkit::{Cluster, SimulationOptions, eventually};
use regex::{Captures, Regex};
use serde_json::{Value, json};

use crate::workloads::{NAMESPACE, Scenarios, TIMEOUT, named};

/// Runs all scenarios. Returns the objects at several moments, as lines that begin with the moment, and the kind of the object, type and
/// reason of the events.
pub(crate) fn of_scenarios(cluster: &Cluster) -> Vec<String> {
    let options = SimulationOptions {
        nodes: 2,
        pod_start: Duration::from_millis(20),
        pod_run: Duration::from_millis(50),
    };
    let simulation = cluster.simulate(options).unwrap();
    cluster.create_namespace(NAMESPACE).unwrap();
    let account = named("v1", "ServiceAccount", "default");
    eventually("the service account exists", TIMEOUT, || {
        cluster.get(&account).unwrap()
    });
    let mut scenarios = Scenarios {
        cluster,
        lines: Vec::new(),
    };
    scenarios.run(&simulation.nodes()[1]);
    let mut lines = scenarios.lines;
    lines.extend(events(cluster));
    lines
}

/// Returns the events about what controllers own. Those about pods and nodes are the simulation's.
fn events(cluster: &Cluster) -> BTreeSet<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let events = cluster.list(&named("v1", "Event", "")).unwrap();
    events
        .iter()
        .filter(|event| {
            let kind = event["involvedObject"]["kind"].as_str().unwrap();
            kind != "Pod" && kind != "Node"
        })
        .map(|event| {
            let [kind, what, reason] =
                [&event["involvedObject"]["kind"], &event["type"], &event["reason"]].map(text);
            format!("event: {kind} {what} {reason}")
        })
        .collect()
}

impl Scenarios<'_> {
    /// Notes the objects of these kinds, once they do not change any more: the condition for which a scenario waited may be true before the
    /// last write.
    pub(crate) fn record(&mut self, moment: &str, api_version: &str, kinds: &[&str]) {
        let mut lines = self.lines_of(moment, api_version, kinds);
        eventually("the objects do not change", TIMEOUT, || {
            sleep(Duration::from_millis(500));
            let before = std::mem::replace(&mut lines, self.lines_of(moment, api_version, kinds));
            if before == lines {
                Ok(())
            } else {
                Err(before.join("\n"))
            }
        });
        self.lines.extend(lines);
    }

    fn lines_of(&self, moment: &str, api_version: &str, kinds: &[&str]) -> Vec<String> {
        let replica_sets = self.list("apps/v1", "ReplicaSet");
        let revisions = self.list("apps/v1", "ControllerRevision");
        let hashes: Vec<(String, String)> = replica_sets
            .iter()
            .filter_map(|set| {
                let image = &set["spec"]["template"]["spec"]["containers"][0]["image"];
                let waits = &set["spec"]["template"]["metadata"]["annotations"];
                let hash = set["metadata"]["labels"]["pod-template-hash"].as_str()?;
                Some((hash.to_owned(), format!("<{image}{waits}>").replace('"', "")))
            })
            .chain(revisions.iter().map(|revision| {
                let name = revision["metadata"]["name"].as_str().unwrap();
                let hash = name.rsplit('-').next().unwrap();
                (hash.to_owned(), format!("<{}>", revision["revision"]))
            }))
            .collect();
        let mut all = Vec::new();
        for kind in kinds {
            let items = self.list(api_version, kind);
            let mut lines: Vec<_> = items
                .iter()
                .map(|item| format!("{moment}: {kind} {}", normalized(item, &hashes)))
                .collect();
            lines.sort();
            all.extend(lines);
        }
        all
    }
}

/// Returns the object's text without uids, versions, times, addresses, data and generated names.
pub(crate) fn normalized(object: &Value, hashes: &[(String, String)]) -> String {
    let mut object = object.clone();
    for field in ["managedFields", "resourceVersion", "uid", "creationTimestamp"] {
        object["metadata"]
            .as_object_mut()
            .map(|metadata| metadata.remove(field));
    }
    // Certificates and tokens.
    let data = object.get_mut("data").and_then(Value::as_object_mut);
    for value in data.into_iter().flat_map(serde_json::Map::values_mut) {
        if value.as_str().is_some_and(|text| !text.is_empty()) {
            *value = json!("~");
        }
    }
    let mut text = object.to_string();
    for (hash, name) in hashes {
        text = text.replace(hash, name);
    }
    let uids = Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap();
    let times = Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").unwrap();
    let addresses = Regex::new(r"\b10(\.\d+){3}\b").unwrap();
    // Five letters that the API server chose, also those of the token's volume.
    let generated =
        Regex::new(r"(kube-api-access-|>-|[a-z]-|\d-)[bcdfghjklmnpqrstvwxz2456789]{5}\b").unwrap();
    // The minute in the name of a CronJob's Job.
    let minutes = Regex::new(r"\bburst-\d+\b").unwrap();
    let text = minutes.replace_all(&text, "burst-~");
    let text = uids.replace_all(&text, "~");
    let text = times.replace_all(&text, "~");
    let text = addresses.replace_all(&text, "~");
    generated
        .replace_all(&text, |found: &Captures<'_>| format!("{}~", &found[1]))
        .into_owned()
}

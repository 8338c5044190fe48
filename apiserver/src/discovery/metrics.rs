//! The metrics: what clients of kube-apiserver's read that is known here.

use super::health;
use crate::meta;
use crate::registry::Registry;
use serde_json::Value;
use std::fmt::Write as _;

const PRIORITY_LEVELS: &str = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io";
/// How many requests kube-apiserver executes at the same time, unless flags say otherwise. This server has no such limit.
const SEATS: u64 = 600;

/// Returns the metrics in the text format of Prometheus.
pub(super) fn text(registry: &Registry) -> String {
    let mut text = String::from(
        "# HELP apiserver_flowcontrol_nominal_limit_seats [BETA] Nominal number of execution seats configured for each priority level\n\
         # TYPE apiserver_flowcontrol_nominal_limit_seats gauge\n",
    );
    // Writing to a string cannot fail.
    let levels = registry.store.objects(PRIORITY_LEVELS, "");
    for (name, seats) in nominal_limits(levels.iter().map(|level| level.value())) {
        let _ = writeln!(
            text,
            "apiserver_flowcontrol_nominal_limit_seats{{priority_level={name:?}}} {seats}"
        );
    }
    text.push_str(
        "# HELP apiserver_storage_objects Number of stored objects at the time of last check split by kind.\n\
         # TYPE apiserver_storage_objects gauge\n",
    );
    for kind in registry.catalog().stored() {
        let count = registry.store.count(&kind.table());
        let resource = kind.group_resource();
        let _ = writeln!(
            text,
            "apiserver_storage_objects{{resource=\"{resource}\"}} {count}"
        );
    }
    text
}

/// Returns the metrics of the health checks.
pub(super) fn slis() -> String {
    let mut text = String::from(
        "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n\
         # TYPE kubernetes_healthcheck gauge\n",
    );
    for name in health::CHECKS {
        for endpoint in health::ENDPOINTS {
            let _ = writeln!(
                text,
                "kubernetes_healthcheck{{name={name:?},type={endpoint:?}}} 1"
            );
        }
    }
    text
}

/// Returns the names of priority levels with their parts of all seats, which are rounded up.
fn nominal_limits<'a>(levels: impl Iterator<Item = &'a Value>) -> Vec<(&'a str, u64)> {
    let shares = levels.map(|level| {
        let spec = &level["spec"];
        let mut kinds = ["limited", "exempt"].into_iter();
        let shares = kinds.find_map(|kind| spec[kind]["nominalConcurrencyShares"].as_u64());
        (meta::name(level), shares.unwrap_or_default())
    });
    let shares: Vec<_> = shares.collect();
    let all: u64 = shares.iter().map(|(_, shares)| shares).sum();
    let seats = |shares: u64| (SEATS * shares).div_ceil(all.max(1));
    shares
        .into_iter()
        .map(|(name, shares)| (name, seats(shares)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn seats_are_those_of_kube_apiserver() {
        let level = |name: &str, kind: &str, shares: u64| json!({ "metadata": { "name": name }, "spec": { kind: { "nominalConcurrencyShares": shares } } });
        let levels = [
            level("catch-all", "limited", 5),
            level("exempt", "exempt", 0),
            level("high", "limited", 40),
            level("low", "limited", 200),
        ];
        let limits = nominal_limits(levels.iter());
        assert_eq!(
            limits,
            [("catch-all", 13), ("exempt", 0), ("high", 98), ("low", 490)]
        );
        assert_eq!(nominal_limits(levels[1..2].iter()), [("exempt", 0)]);
    }
}

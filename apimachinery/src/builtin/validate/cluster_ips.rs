//! Cluster IPs and IP families of services.

use super::service::is_headless;
use super::{Check, Constraint, FieldRule, addresses, array, text};
use serde_json::Value;
use std::net::IpAddr;

#[rustfmt::skip]
const FAMILIES: &[FieldRule] = &[
    ("ipFamilies[]", Constraint::Only(&["IPv4", "IPv6"])),
    ("ipFamilies[]", Constraint::Unique),
    ("ipFamilyPolicy", Constraint::OneOf(&["PreferDualStack", "RequireDualStack", "SingleStack"])),
];
const CLUSTER_IPS: &str = "spec.clusterIPs";

pub(super) fn validate_cluster_ips(check: &mut Check, spec: &Value, old: Option<&Value>) {
    let addresses = string_items(&spec["clusterIPs"]);
    let shown = || spec["clusterIPs"].clone();
    let primary = text(spec, "clusterIP");
    match addresses.first() {
        None if !primary.is_empty() => check.required(CLUSTER_IPS, ""),
        Some(_) if primary.is_empty() => {
            let detail = "must be empty when `clusterIP` is not specified";
            check.invalid(CLUSTER_IPS, shown(), detail);
        }
        Some(first) if *first != primary => {
            check.invalid(CLUSTER_IPS, shown(), "first value must match `clusterIP`");
        }
        _ => {}
    }
    check.apply(FAMILIES, spec, None, "spec");
    let previous = old.map_or(vec![], |old| string_items(&old["clusterIPs"]));
    if !validate_addresses(check, spec, &addresses, &previous) {
        return;
    }
    let parsed: Vec<IpAddr> = addresses
        .iter()
        .filter_map(|address| address.parse().ok())
        .collect();
    if addresses.len() > 1 && !parsed.iter().any(IpAddr::is_ipv4) | !parsed.iter().any(IpAddr::is_ipv6) {
        let detail = "may specify no more than one IP for each IP family";
        check.invalid(CLUSTER_IPS, shown(), detail);
    }
    for (at, (address, family)) in parsed.iter().zip(string_items(&spec["ipFamilies"])).enumerate() {
        let fits = match family {
            "IPv4" => address.is_ipv4(),
            "IPv6" => address.is_ipv6(),
            _ => true,
        };
        if !fits {
            let detail = format!("expected an {family} value as indicated by `ipFamilies[{at}]`");
            check.invalid(&format!("{CLUSTER_IPS}[{at}]"), addresses[at], detail);
        }
    }
}

/// Checks that all values are IP addresses or the only one is `None`. Values that the service already had are not checked.
fn validate_addresses(check: &mut Check, spec: &Value, addresses: &[&str], previous: &[&str]) -> bool {
    let mut valid = true;
    for (at, address) in addresses.iter().enumerate() {
        if at == 0 && *address == "None" {
            if addresses.len() > 1 {
                valid = false;
                let detail = "'None' must be the first and only value";
                check.invalid(CLUSTER_IPS, spec["clusterIPs"].clone(), detail);
            }
        } else if let Some(reason) = addresses::ip_error(address).filter(|_| !previous.contains(address)) {
            valid = false;
            check.invalid(&format!("{CLUSTER_IPS}[{at}]"), *address, reason);
        }
    }
    if addresses.len() > 2 {
        let detail = "may only hold up to 2 values";
        check.invalid(CLUSTER_IPS, spec["clusterIPs"].clone(), detail);
    }
    valid
}

/// Validates updates: primary addresses and families are immutable, secondary ones may be added and removed.
pub(super) fn validate_update(check: &mut Check, new: &Value, old: &Value) {
    const IMMUTABLE: &str = "may not change once set";
    if [new, old].iter().any(|spec| text(spec, "type") == "ExternalName") {
        return;
    }
    let headless = (is_headless(new), is_headless(old));
    let single = new["ipFamilyPolicy"] == "SingleStack";
    let policy = || new["ipFamilyPolicy"].clone();
    let (before, after) = (string_items(&old["clusterIPs"]), string_items(&new["clusterIPs"]));
    if headless != (true, true) {
        let shown = || new["clusterIPs"].clone();
        let changed = if before.len() == after.len() {
            before
                .iter()
                .zip(&after)
                .map(|(before, after)| before != after)
                .collect()
        } else {
            vec![!before.is_empty() && !after.is_empty() && before[0] != after[0]]
        };
        for (at, _) in changed.iter().enumerate().filter(|(_, changed)| **changed) {
            check.invalid(&format!("{CLUSTER_IPS}[{at}]"), shown(), IMMUTABLE);
        }
        if after.is_empty() && !before.is_empty() {
            let detail = "primary clusterIP can not be unset";
            check.invalid("spec.clusterIPs[0]", shown(), detail);
        }
        if before.len() > 1 && after.len() == 1 && !single {
            let detail = "must be set to 'SingleStack' when releasing the secondary clusterIP";
            check.invalid("spec.ipFamilyPolicy", policy(), detail);
        }
    }
    if headless != (false, false) {
        return;
    }
    let (before, after) = (string_items(&old["ipFamilies"]), string_items(&new["ipFamilies"]));
    let path = "spec.ipFamilies[0]";
    if before.len() == after.len() {
        if before != after {
            check.invalid(path, new["ipFamilies"].clone(), IMMUTABLE);
        }
    } else if !before.is_empty() && !after.is_empty() && before[0] != after[0] {
        // kube-apiserver shows the cluster IPs here, not the families.
        check.invalid(path, new["clusterIPs"].clone(), IMMUTABLE);
    }
    if before.len() > 1 && after.len() == 1 && !single {
        let detail = "must be set to 'SingleStack' when releasing the secondary ipFamily";
        check.invalid("spec.ipFamilyPolicy", policy(), detail);
    }
}

fn string_items(list: &Value) -> Vec<&str> {
    let items = array(list).iter();
    items.map(|item| item.as_str().unwrap_or_default()).collect()
}

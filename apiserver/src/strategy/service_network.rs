//! The network of the cluster IPs of Services.

use crate::meta;
use ipnet::Ipv4Net;
use serde_json::Value;
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// The largest network has this prefix, as in kube-apiserver.
const MIN_PREFIX: u8 = 12;
/// The smallest network has this prefix: eight addresses, as in kube-apiserver.
const MAX_PREFIX: u8 = 29;

/// The IPv4 network of the cluster IPs of Services; the default is 10.0.0.0/16. Its first address is that of the service `kubernetes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceNetwork(Ipv4Net);

/// The reason why a text is not a service network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a service network: expected one IPv4 network of /{MIN_PREFIX} to /{MAX_PREFIX}, such as 10.0.0.0/16"
)]
pub struct ServiceNetworkError {
    text: String,
}

impl Default for ServiceNetwork {
    fn default() -> Self {
        Self(Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), 16))
    }
}

impl FromStr for ServiceNetwork {
    type Err = ServiceNetworkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let network = text.parse::<Ipv4Net>().ok();
        let is_allowed = |network: &Ipv4Net| (MIN_PREFIX..=MAX_PREFIX).contains(&network.prefix_len());
        network
            .filter(is_allowed)
            .map(|network| Self(network.trunc()))
            .ok_or_else(|| ServiceNetworkError {
                text: text.to_owned(),
            })
    }
}

impl fmt::Display for ServiceNetwork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl ServiceNetwork {
    /// Returns the address of the service `kubernetes`.
    pub(crate) fn kubernetes_address(self) -> Ipv4Addr {
        self.0.hosts().next().unwrap_or(self.0.network())
    }
}

/// The network of the server, and those of the ServiceCIDRs that are ready, which they are unless their status says otherwise.
pub(crate) struct ServiceNetworks {
    main: Ipv4Net,
    others: Vec<Ipv4Net>,
}

impl ServiceNetworks {
    pub(crate) fn new<'a>(
        ServiceNetwork(main): ServiceNetwork,
        service_cidrs: impl Iterator<Item = &'a Value>,
    ) -> Self {
        let ready = service_cidrs.filter(|object| is_ready(object));
        let networks = ready.flat_map(|object| object["spec"]["cidrs"].as_array().into_iter().flatten());
        // Networks of IPv6 are not supported.
        let networks = networks.filter_map(|network| network.as_str()?.parse().ok());
        let others = networks.filter(|network| *network != main);
        Self {
            main,
            others: others.collect(),
        }
    }

    /// Returns the address of the network, which dry runs show.
    pub(super) fn address(&self) -> Ipv4Addr {
        self.main.network()
    }

    /// Returns the addresses of all Services but `kubernetes`.
    pub(super) fn addresses(&self) -> impl Iterator<Item = Ipv4Addr> {
        let others = self.others.iter().flat_map(Ipv4Net::hosts);
        self.main.hosts().skip(1).chain(others)
    }

    /// True for an address of a host in one of the networks.
    pub(super) fn contains(&self, address: &str) -> bool {
        let Ok(address) = address.parse::<Ipv4Addr>() else {
            return false;
        };
        let mut networks = self.others.iter().chain([&self.main]);
        networks.any(|network| {
            let is_host = ![network.network(), network.broadcast()].contains(&address);
            is_host && network.contains(&address)
        })
    }
}

impl fmt::Display for ServiceNetworks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.main.fmt(formatter)
    }
}

fn is_ready(service_cidr: &Value) -> bool {
    let conditions = service_cidr["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let condition = conditions.find(|condition| condition["type"] == "Ready");
    condition.is_none_or(|condition| condition["status"] == "True") && !meta::is_being_deleted(service_cidr)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn network_is_parsed_and_limited() {
        let network: ServiceNetwork = "10.96.3.7/12".parse().unwrap();
        assert_eq!(network.to_string(), "10.96.0.0/12");
        assert_eq!(network.kubernetes_address().to_string(), "10.96.0.1");
        for text in [
            "10.0.0.0/8",
            "10.0.0.0/30",
            "fd00::/112",
            "10.0.0.0/16,fd00::/112",
            "10.0.0.0",
            "",
        ] {
            let error = text.parse::<ServiceNetwork>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("{text:?} is not a service network: ")),
                "{error}"
            );
        }
    }

    #[test]
    fn addresses_are_those_of_hosts_in_all_networks_that_are_ready() {
        let service_cidr = |network: &str, ready: &str| {
            json!({ "spec": { "cidrs": [network, "fd00::/112"] }, "status": { "conditions": [
            { "type": "Ready", "status": ready } ] } })
        };
        let mut deleted = service_cidr("10.4.0.0/30", "True");
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let service_cidrs = [
            service_cidr("10.0.0.0/29", "True"),
            service_cidr("10.2.0.0/30", "True"),
            json!({ "spec": { "cidrs": ["10.5.0.0/30"] } }),
            service_cidr("10.3.0.0/30", "False"),
            deleted,
        ];
        let networks = ServiceNetworks::new("10.0.0.0/29".parse().unwrap(), service_cidrs.iter());
        let addresses: Vec<String> = networks.addresses().map(|address| address.to_string()).collect();
        // The first one is that of the service `kubernetes`.
        let expected = [
            "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "10.2.0.1", "10.2.0.2", "10.5.0.1",
            "10.5.0.2",
        ];
        assert_eq!(addresses, expected);
        assert!(expected.iter().all(|address| networks.contains(address)));
        for address in ["10.0.0.0", "10.0.0.7", "10.2.0.3", "10.3.0.1", "10.4.0.1", "x"] {
            assert!(!networks.contains(address), "{address}");
        }
    }
}

//! The network of the cluster IPs of Services.

use ipnet::Ipv4Net;
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
    /// Returns the address of the network, which dry runs show.
    pub(super) fn address(self) -> Ipv4Addr {
        self.0.network()
    }

    /// Returns the address of the service `kubernetes`.
    pub(crate) fn kubernetes_address(self) -> Ipv4Addr {
        self.0.hosts().next().unwrap_or(self.0.network())
    }

    /// Returns the addresses of all other Services.
    pub(super) fn addresses(self) -> impl Iterator<Item = Ipv4Addr> {
        self.0.hosts().skip(1)
    }

    pub(super) fn contains(self, address: &str) -> bool {
        address
            .parse()
            .is_ok_and(|address: Ipv4Addr| self.0.contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_is_parsed_and_limited() {
        let network: ServiceNetwork = "10.96.3.7/12".parse().unwrap();
        assert_eq!(network.to_string(), "10.96.0.0/12");
        assert_eq!(network.kubernetes_address().to_string(), "10.96.0.1");
        assert_eq!(network.addresses().next().unwrap().to_string(), "10.96.0.2");
        assert!(
            network.contains("10.111.255.1") && !network.contains("10.112.0.1") && !network.contains("x")
        );
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
        let smallest: ServiceNetwork = "10.0.0.0/29".parse().unwrap();
        assert_eq!(smallest.addresses().count(), 5);
    }
}

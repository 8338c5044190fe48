//! The cells of services, endpoints, ingresses and network policies.

use super::{
    NONE, UNSET, age_of, format_labels, join_first_three, list, name, number, selector_or_none, text, text_or,
};
use serde_json::{Value, json};

pub(super) fn cells(kind: &str, object: &Value) -> Option<Vec<Value>> {
    let (spec, age) = (&object["spec"], json!(age_of(object)));
    let name = name(object).clone();
    Some(match kind {
        "Service" => vec![
            name,
            spec["type"].clone(),
            list(spec, "clusterIPs").first().cloned().unwrap_or(json!(NONE)),
            json!(external_addresses(object)),
            json!(text_or(&ports(spec), NONE)),
            age,
            json!(format_labels(&spec["selector"])),
        ],
        "Endpoints" => vec![name, json!(endpoints(object)), age],
        "EndpointSlice" => {
            let ports =
                list(object, "ports")
                    .iter()
                    .map(|port| match (&port["port"], port["name"].as_str()) {
                        (Value::Null, name) => name.unwrap_or("*").to_owned(),
                        (port, _) => port.to_string(),
                    });
            let addresses = list(object, "endpoints")
                .iter()
                .flat_map(|endpoint| list(endpoint, "addresses"));
            let addresses = addresses.map(|address| address.as_str().unwrap_or_default().to_owned());
            let shown = |texts: Vec<String>| json!(text_or(&join_first_three(&texts), UNSET));
            vec![
                name,
                object["addressType"].clone(),
                shown(ports.collect()),
                shown(addresses.collect()),
                age,
            ]
        }
        "Ingress" => vec![
            name,
            json!(spec["ingressClassName"].as_str().unwrap_or(NONE)),
            json!(hosts(list(spec, "rules"))),
            json!(load_balancer_addresses(object)),
            json!(if list(spec, "tls").is_empty() {
                "80"
            } else {
                "80, 443"
            }),
            age,
        ],
        "IngressClass" => {
            let parameters = &spec["parameters"];
            let group = parameters["apiGroup"].as_str().map(|group| format!(".{group}"));
            let shown = match parameters {
                Value::Null => NONE.to_owned(),
                parameters => format!(
                    "{}{}/{}",
                    text(parameters, "kind"),
                    group.unwrap_or_default(),
                    text(parameters, "name")
                ),
            };
            let name = super::storage::name_with_default_mark(
                object,
                &["ingressclass.kubernetes.io/is-default-class"],
            );
            vec![json!(name), json!(text(spec, "controller")), json!(shown), age]
        }
        "NetworkPolicy" => vec![name, json!(selector_or_none(&spec["podSelector"])), age],
        _ => return None,
    })
}

/// Returns where a service is reachable from outside the cluster.
fn external_addresses(service: &Value) -> String {
    let spec = &service["spec"];
    let external_ips: Vec<&str> = list(spec, "externalIPs")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    match text(spec, "type") {
        "ClusterIP" | "NodePort" => text_or(&external_ips.join(","), NONE).to_owned(),
        "LoadBalancer" => {
            let load_balancer_addresses = load_balancer_addresses(service);
            let all: Vec<&str> = [load_balancer_addresses.as_str()]
                .into_iter()
                .filter(|text| !text.is_empty())
                .chain(external_ips)
                .collect();
            text_or(&all.join(","), "<pending>").to_owned()
        }
        "ExternalName" => text(spec, "externalName").to_owned(),
        _ => super::UNKNOWN.to_owned(),
    }
}

/// Returns the distinct addresses of a load balancer.
fn load_balancer_addresses(object: &Value) -> String {
    let addresses = list(&object["status"]["loadBalancer"], "ingress").iter();
    let mut addresses: Vec<&str> = addresses
        .map(|address| text_or(text(address, "ip"), text(address, "hostname")))
        .filter(|address| !address.is_empty())
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses.join(",")
}

fn ports(spec: &Value) -> String {
    let ports = list(spec, "ports").iter().map(|port| {
        let node = match number(&port["nodePort"]) {
            0 => String::new(),
            node => format!(":{node}"),
        };
        format!("{}{node}/{}", number(&port["port"]), text(port, "protocol"))
    });
    ports.collect::<Vec<_>>().join(",")
}

/// Returns each address with each port, or only the addresses if there are no ports.
fn endpoints(object: &Value) -> String {
    let mut endpoints_found = vec![];
    let subsets = list(object, "subsets");
    for subset in subsets {
        let addresses = list(subset, "addresses");
        if list(subset, "ports").is_empty() {
            endpoints_found.extend(addresses.iter().map(|address| text(address, "ip").to_owned()));
        }
        for port in list(subset, "ports") {
            endpoints_found.extend(addresses.iter().map(|address| match text(address, "ip") {
                ip if ip.contains(':') => format!("[{ip}]:{}", number(&port["port"])),
                ip => format!("{ip}:{}", number(&port["port"])),
            }));
        }
    }
    if subsets.is_empty() {
        NONE.to_owned()
    } else {
        join_first_three(&endpoints_found)
    }
}

fn hosts(rules: &[Value]) -> String {
    const MAX_HOSTS: usize = 3;
    let hosts = rules.iter().map(|rule| text(rule, "host")).enumerate();
    let (places, shown): (Vec<usize>, Vec<&str>) =
        hosts.filter(|(_, host)| !host.is_empty()).take(MAX_HOSTS).unzip();
    if shown.is_empty() {
        return "*".to_owned();
    }
    let shown = shown.join(",");
    // kube-apiserver counts rules, not hosts, and only if a rule follows the third host.
    match places.get(MAX_HOSTS - 1) {
        Some(at) if at + 1 < rules.len() => format!("{shown} + {} more...", rules.len() - MAX_HOSTS),
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_show_external_addresses_and_ports() {
        let service = json!({
            "spec": { "type": "LoadBalancer", "externalIPs": ["1.1.1.1"], "ports": [{ "port": 80, "nodePort": 30000, "protocol": "TCP" }] },
            "status": { "loadBalancer": { "ingress": [{ "hostname": "h" }, { "ip": "2.2.2.2" }] } },
        });
        assert_eq!(external_addresses(&service), "2.2.2.2,h,1.1.1.1");
        assert_eq!(ports(&service["spec"]), "80:30000/TCP");
        assert_eq!(
            external_addresses(&json!({ "spec": { "type": "LoadBalancer" } })),
            "<pending>"
        );
    }

    #[test]
    fn hidden_hosts_are_counted_by_rules() {
        let rule = |host: &str| json!({ "host": host });
        assert_eq!(hosts(&[json!({})]), "*");
        assert_eq!(hosts(&[rule("a"), rule("b"), rule("c")]), "a,b,c");
        assert_eq!(
            hosts(&[rule("a"), rule("b"), rule("c"), rule("d"), json!({})]),
            "a,b,c + 2 more..."
        );
    }
}

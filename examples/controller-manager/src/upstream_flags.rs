//! The flags of kube-controller-manager that change nothing here, or cannot do what they say, so that a command line of it says which of its
//! flags are not honoured. The program's own flags are in `flags`.

use std::ffi::OsString;

use anyhow::bail;

/// What happens to a flag of upstream's.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Treatment {
    /// It is accepted, with a warning that gives the reason.
    Ignored,
    /// It is an error with the reason.
    Refused,
}
use Treatment::{Ignored, Refused};

const ABSENT: &str = "its controller is not part of this program";
const TOKENS_ALONE: &str = "clients send bearer tokens, which the cluster's own API server reviews; there are no client certificates";
const SIMPLE_LOG: &str = "the log has one format, on standard error";
const SELF_SIGNED: &str = "without --tls-cert-file the certificate is self-signed and stays in memory";
const TLS: &str = "the port has TLS 1.2 and 1.3 with rustls' cipher suites, and HTTP/1.1";

/// Names or beginnings of names (with `*`), what happens, and why.
const FLAGS: &[(&str, Treatment, &str)] = &[
    ("allocate-node-cidrs", Ignored, ABSENT),
    ("allow-metric-labels*", Ignored, "metrics have fixed labels"),
    ("attach-detach-*", Ignored, ABSENT),
    ("authentication-*", Ignored, TOKENS_ALONE),
    ("authorization-*", Ignored, TOKENS_ALONE),
    ("cert-dir", Ignored, SELF_SIGNED),
    ("cidr-allocator-type", Ignored, ABSENT),
    ("client-ca-file", Ignored, TOKENS_ALONE),
    (
        "cloud-config",
        Refused,
        "cloud providers run as programs of their own",
    ),
    (
        "cloud-provider",
        Refused,
        "cloud providers run as programs of their own",
    ),
    ("cluster-cidr", Ignored, ABSENT),
    ("cluster-name", Ignored, ABSENT),
    ("cluster-signing-*", Ignored, ABSENT),
    ("concurrent-device-taint-eviction-syncs", Ignored, ABSENT),
    ("concurrent-endpoint-syncs", Ignored, ABSENT),
    ("concurrent-ephemeralvolume-syncs", Ignored, ABSENT),
    ("concurrent-horizontal-pod-autoscaler-syncs", Ignored, ABSENT),
    ("concurrent-resource-quota-syncs", Ignored, ABSENT),
    ("concurrent-resourceclaim-syncs", Ignored, ABSENT),
    ("concurrent-service-*", Ignored, ABSENT),
    (
        "concurrent-validating-admission-policy-status-syncs",
        Ignored,
        ABSENT,
    ),
    ("configure-cloud-routes", Ignored, ABSENT),
    ("contention-profiling", Ignored, "Go's profiles do not exist here"),
    (
        "controller-shutdown-timeout",
        Ignored,
        "reconciles have 21 of 30 seconds to end",
    ),
    (
        "controller-start-interval",
        Ignored,
        "controllers start when their caches have synced",
    ),
    ("disable-attach-detach-reconcile-sync", Ignored, ABSENT),
    ("disable-force-detach-on-timeout", Ignored, ABSENT),
    ("disable-http2-serving", Ignored, TLS),
    ("disabled-metrics", Ignored, "all metrics are served"),
    ("enable-dynamic-provisioning", Ignored, ABSENT),
    (
        "enable-garbage-collector",
        Refused,
        "write --controllers=*,-garbage-collector-controller to switch it off",
    ),
    ("enable-hostpath-provisioner", Ignored, ABSENT),
    (
        "enable-leader-migration",
        Refused,
        "there is one lease for all controllers",
    ),
    ("endpoint-updates-batch-period", Ignored, ABSENT),
    ("endpointslice-updates-batch-period", Ignored, ABSENT),
    ("external-cloud-volume-plugin", Ignored, ABSENT),
    ("flex-volume-plugin-dir", Ignored, ABSENT),
    ("horizontal-pod-autoscaler-*", Ignored, ABSENT),
    ("http2-max-streams-per-connection", Ignored, TLS),
    (
        "kube-api-content-type",
        Ignored,
        "requests and responses are JSON",
    ),
    ("large-cluster-size-threshold", Ignored, ABSENT),
    ("leader-elect-resource-lock", Ignored, "the lock is a Lease"),
    (
        "leader-elect-resource-name",
        Refused,
        "the Lease is called kube-controller-manager",
    ),
    (
        "leader-migration-config",
        Refused,
        "there is one lease for all controllers",
    ),
    ("log-*", Ignored, SIMPLE_LOG),
    ("logging-format", Ignored, SIMPLE_LOG),
    ("max-endpoints-per-slice", Ignored, ABSENT),
    (
        "min-compatibility-version",
        Ignored,
        "there are no components of older versions in this program",
    ),
    ("min-resync-period", Ignored, "informers do not resync"),
    ("mirroring-*", Ignored, ABSENT),
    ("namespace-sync-period", Ignored, "informers do not resync"),
    ("node-*", Ignored, ABSENT),
    ("permit-address-sharing", Refused, "the port is not shared"),
    ("permit-port-sharing", Refused, "the port is not shared"),
    (
        "profiling",
        Ignored,
        "Go's profiles do not exist here; /debug/kubewright shows caches and queues",
    ),
    ("pv-recycler-*", Ignored, ABSENT),
    ("pvclaimbinder-sync-period", Ignored, ABSENT),
    ("requestheader-*", Ignored, TOKENS_ALONE),
    ("resource-quota-sync-period", Ignored, ABSENT),
    ("route-reconciliation-period", Ignored, ABSENT),
    ("secondary-node-eviction-rate", Ignored, ABSENT),
    ("service-cluster-ip-range", Ignored, ABSENT),
    ("show-hidden-metrics-for-version", Ignored, "no metric is hidden"),
    ("tls-cipher-suites", Ignored, TLS),
    ("tls-curve-preferences", Ignored, TLS),
    ("tls-min-version", Ignored, TLS),
    (
        "tls-sni-cert-key",
        Refused,
        "there is one certificate: --tls-cert-file",
    ),
    ("unhealthy-zone-threshold", Ignored, ABSENT),
    ("vmodule", Ignored, SIMPLE_LOG),
];

/// Those of them that are switches: their value, if any, follows `=`.
const SWITCHES: [&str; 17] = [
    "allocate-node-cidrs",
    "authentication-skip-lookup",
    "authentication-tolerate-lookup-failure",
    "configure-cloud-routes",
    "contention-profiling",
    "disable-attach-detach-reconcile-sync",
    "disable-force-detach-on-timeout",
    "disable-http2-serving",
    "enable-dynamic-provisioning",
    "enable-garbage-collector",
    "enable-hostpath-provisioner",
    "enable-leader-migration",
    "log-json-split-stream",
    "log-text-split-stream",
    "permit-address-sharing",
    "permit-port-sharing",
    "profiling",
];

/// A flag that was given and changes nothing.
#[derive(Debug, PartialEq)]
pub(crate) struct IgnoredFlag {
    pub(crate) name: String,
    pub(crate) reason: &'static str,
}

/// Takes the flags of the table out of a command line. Fails if one is refused, with the reason.
pub(crate) fn take(
    arguments: impl IntoIterator<Item = OsString>,
) -> anyhow::Result<(Vec<OsString>, Vec<IgnoredFlag>)> {
    let (mut rest, mut ignored) = (Vec::new(), Vec::new());
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_str().and_then(|text| text.strip_prefix("--"));
        let (name, has_value) = match text.map(|text| text.split_once('=').ok_or(text)) {
            Some(Ok((name, _))) => (name, true),
            Some(Err(name)) => (name, false),
            None => ("", false),
        };
        let Some((_, treatment, reason)) = FLAGS.iter().find(|(flag, ..)| is_named(flag, name)) else {
            rest.push(argument);
            continue;
        };
        if *treatment == Refused {
            bail!("--{name} is not supported: {reason}");
        }
        // One warning, however often it was given.
        if !ignored.iter().any(|flag: &IgnoredFlag| flag.name == name) {
            ignored.push(IgnoredFlag {
                name: name.to_owned(),
                reason,
            });
        }
        if !has_value && !SWITCHES.contains(&name) {
            arguments.next();
        }
    }
    Ok((rest, ignored))
}

fn is_named(flag: &str, name: &str) -> bool {
    match flag.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => flag == name,
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fmt::Write as _, fs};

    use super::*;

    const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    const TABLE_HEAD: &str = "| other flags of upstream's | here | why |\n|---|---|---|\n";

    /// The table, with a row for the flags that have a treatment and a reason in common.
    fn table() -> String {
        let mut rows: Vec<(Treatment, &str, Vec<String>)> = Vec::new();
        for (flag, treatment, reason) in FLAGS {
            let flag = format!("`--{flag}`");
            match rows
                .iter_mut()
                .find(|row| (row.0, row.1) == (*treatment, *reason))
            {
                Some((.., flags)) => flags.push(flag),
                None => rows.push((*treatment, reason, vec![flag])),
            }
        }
        let mut table = TABLE_HEAD.to_owned();
        for (treatment, reason, flags) in rows {
            let here = match treatment {
                Ignored => "a warning",
                Refused => "refused",
            };
            writeln!(table, "| {} | {here} | {reason} |", flags.join(", ")).unwrap();
        }
        table
    }

    /// `UPDATE_GOLDEN=1` writes the table.
    #[test]
    fn readme_has_the_table_of_flags() {
        let readme = fs::read_to_string(README).unwrap();
        let start = readme.find(TABLE_HEAD).expect("the README has the table");
        let end = readme[start..]
            .find("\n\n")
            .map_or(readme.len(), |end| start + end + 1);
        if env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(README, [&readme[..start], &table(), &readme[end..]].concat()).unwrap();
        } else {
            assert_eq!(&readme[start..end], table(), "run the test with UPDATE_GOLDEN=1");
        }
    }

    fn taken(arguments: &[&str]) -> (Vec<String>, Vec<String>) {
        let (rest, ignored) = take(arguments.iter().map(OsString::from)).unwrap();
        let rest = rest.into_iter().map(|argument| argument.into_string().unwrap());
        (
            rest.collect(),
            ignored.into_iter().map(|flag| flag.name).collect(),
        )
    }

    /// The flags of the manifest that kubeadm writes.
    #[test]
    fn command_line_of_kubeadm_is_accepted() {
        let (rest, ignored) = taken(&[
            "--allocate-node-cidrs=true",
            "--authentication-kubeconfig=/etc/kubernetes/controller-manager.conf",
            "--authorization-kubeconfig=/etc/kubernetes/controller-manager.conf",
            "--bind-address=127.0.0.1",
            "--client-ca-file=/etc/kubernetes/pki/ca.crt",
            "--cluster-cidr=10.244.0.0/16",
            "--cluster-name=kubernetes",
            "--cluster-signing-cert-file=/etc/kubernetes/pki/ca.crt",
            "--cluster-signing-key-file=/etc/kubernetes/pki/ca.key",
            "--controllers=*,bootstrapsigner,tokencleaner",
            "--kubeconfig=/etc/kubernetes/controller-manager.conf",
            "--leader-elect=true",
            "--requestheader-client-ca-file=/etc/kubernetes/pki/front-proxy-ca.crt",
            "--root-ca-file=/etc/kubernetes/pki/ca.crt",
            "--service-account-private-key-file=/etc/kubernetes/pki/sa.key",
            "--service-cluster-ip-range=10.96.0.0/12",
            "--use-service-account-credentials=true",
        ]);
        assert_eq!(
            rest,
            [
                "--bind-address=127.0.0.1",
                "--controllers=*,bootstrapsigner,tokencleaner",
                "--kubeconfig=/etc/kubernetes/controller-manager.conf",
                "--leader-elect=true",
                "--root-ca-file=/etc/kubernetes/pki/ca.crt",
                "--service-account-private-key-file=/etc/kubernetes/pki/sa.key",
                "--use-service-account-credentials=true",
            ]
        );
        assert_eq!(ignored.len(), 10);
    }

    #[test]
    fn values_in_arguments_of_their_own_go_with_their_flags() {
        let (rest, ignored) = taken(&[
            "--cluster-name",
            "main",
            "--profiling",
            "--v",
            "2",
            "--min-resync-period",
            "12h0m0s",
            "--cluster-name=other",
            "manifests",
            "--yaml",
        ]);
        assert_eq!(rest, ["--v", "2", "manifests", "--yaml"]);
        assert_eq!(ignored, ["cluster-name", "profiling", "min-resync-period"]);
    }

    #[test]
    fn refused_flags_say_why() {
        let error = take(["--enable-garbage-collector=false".into()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--enable-garbage-collector is not supported: write --controllers=*,-garbage-collector-controller to switch it off"
        );
    }
}

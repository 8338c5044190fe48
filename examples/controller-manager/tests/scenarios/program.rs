//! How the program is started.

use std::{fs, sync::LazyLock};

use rcgen::{CertifiedKey, generate_simple_self_signed};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_controller-manager");
pub(crate) const CONTROLLERS: [&str; 15] = [
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "legacy-serviceaccount-token-cleaner-controller",
    "root-ca-certificate-publisher-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "replicaset-controller",
    "replicationcontroller-controller",
    "deployment-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "cronjob-controller",
    "ttl-after-finished-controller",
    "pod-garbage-collector-controller",
];

/// The flags of the program, with files of a new key and certificate.
pub(crate) static FLAGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["kubernetes".to_owned()]).unwrap();
    let write = |name: &str, content: String| {
        let path = format!("{}/{}-{name}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
        fs::write(&path, content).unwrap();
        path
    };
    let (key, root_ca) = (
        write("key.pem", signing_key.serialize_pem()),
        write("ca.pem", cert.pem()),
    );
    vec![
        format!("--controllers={}", CONTROLLERS.join(",")),
        format!("--service-account-private-key-file={key}"),
        format!("--root-ca-file={root_ca}"),
        "--use-service-account-credentials".to_owned(),
        "--secure-port=0".to_owned(),
        "--legacy-service-account-token-clean-up-period=1s".to_owned(),
    ]
});

use super::*;

fn parse(args: &[&str]) -> Flags {
    Flags::try_parse_from([&["controller-manager"], args].concat()).unwrap()
}

#[test]
fn flags_of_kube_controller_manager_become_those_of_the_manager() {
    let flags = parse(&[
        "--kubeconfig=/tmp/k",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
        "--v=4",
    ]);
    let args = flags.manager_args();
    for expected in [
        "--kubeconfig=/tmp/k",
        "--leader-elect=false",
        "--leader-election-namespace=kube-system",
        "--health-bind-address=0",
        "--metrics-bind-address=0",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
        "--log-level=debug",
    ] {
        assert!(args.iter().any(|arg| arg == expected), "{expected}: {args:?}");
    }
    let address = |args: &[&str]| parse(args).manager_args()[7].clone();
    assert_eq!(address(&[]), "--health-bind-address=127.0.0.1:10257");
    assert_eq!(
        address(&["--bind-address=::", "--secure-port=1"]),
        "--health-bind-address=[::]:1"
    );
    assert_eq!(
        parse(&["manifests", "--yaml"]).manager_args(),
        ["manifests", "--yaml"]
    );
}

#[test]
fn flags_set_the_options_of_the_controllers() {
    let flags = parse(&[
        "--controllers=*,-replicationcontroller",
        "--concurrent-replicaset-syncs=7",
        "--legacy-service-account-token-clean-up-period=1h0m0s",
        "--feature-gates=PodDeletionCost=false",
        "--emulated-version=kube=1.34",
    ]);
    let options = flags.options().unwrap();
    assert_eq!(options.concurrent_replicaset_syncs, 7);
    assert_eq!(
        options.legacy_token_clean_up_period,
        std::time::Duration::from_hours(1)
    );
    let names: Vec<_> = options
        .controllers
        .iter()
        .map(|controller| controller.name)
        .collect();
    assert!(names.contains(&"replicaset-controller") && !names.contains(&"replicationcontroller-controller"));
    assert_eq!(
        options.gates,
        FeatureGates::parse("1.34;PodDeletionCost=false").unwrap()
    );
}

#[test]
fn mistakes_name_the_flag() {
    for (args, expected) in [
        (
            &["--controllers=foo"][..],
            "--controllers: \"foo\" is no controller",
        ),
        (
            &["--root-ca-file=/does/not/exist"],
            "--root-ca-file: cannot read /does/not/exist",
        ),
        (&["--feature-gates=Foo"], "\"Foo\" are no feature gates"),
        (
            &["--legacy-service-account-token-clean-up-period=1d"],
            "--legacy-service-account-token-clean-up-period: \"1d\" is no duration",
        ),
    ] {
        let error = parse(args).options().unwrap_err();
        let message = format!("{error:#}");
        assert!(message.contains(expected), "{message}");
    }
    for wrong in ["--no-such-flag", "--tls-cert-file=/tmp/c"] {
        assert!(
            Flags::try_parse_from(["controller-manager", wrong]).is_err(),
            "{wrong}"
        );
    }
}

use clap::CommandFactory as _;

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
        "--terminated-pod-gc-threshold=-1",
        "--feature-gates=PodDeletionCost=false",
        "--emulated-version=kube=1.34",
    ]);
    let options = flags.options().unwrap();
    assert_eq!(options.concurrent_replicaset_syncs, 7);
    assert_eq!(
        options.legacy_token_clean_up_period,
        std::time::Duration::from_hours(1)
    );
    assert_eq!(options.terminated_pod_gc_threshold, 0);
    let names: Vec<_> = options
        .controllers
        .iter()
        .map(|controller| controller.name)
        .collect();
    assert!(names.contains(&"replicaset-controller") && !names.contains(&"replicationcontroller-controller"));
    assert_eq!(
        options.gates,
        FeatureGates::parse_with_version("1.34;PodDeletionCost=false").unwrap()
    );
}

#[test]
fn token_controller_runs_with_a_key_whatever_is_selected() {
    let key = concat!(
        "--service-account-private-key-file=",
        env!("CARGO_MANIFEST_DIR"),
        "/Cargo.toml"
    );
    for (args, expected) in [
        (
            &["--controllers=deployment", key][..],
            &["deployment-controller", "serviceaccount-token-controller"][..],
        ),
        (
            &["--controllers=serviceaccount-token", key],
            &["serviceaccount-token-controller"],
        ),
        (&["--controllers=deployment"], &["deployment-controller"]),
    ] {
        let options = parse(args).options().unwrap();
        let names: Vec<_> = options
            .controllers
            .iter()
            .map(|controller| controller.name)
            .collect();
        assert_eq!(names, expected);
    }
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
        (
            &["--feature-gates=Foo"],
            "--feature-gates: \"Foo\" are no feature gates",
        ),
        (
            &["--feature-gates=1.33;JobManagedBy=false"],
            "--feature-gates: \"1.33;JobManagedBy=false\" are no feature gates: write `Gate=true,Other=false`",
        ),
        (
            &["--feature-gates=JobManagedBy=false"],
            "--feature-gates: cannot set feature gate JobManagedBy to false: it is locked to true in Kubernetes 1.36: remove it",
        ),
        (
            &[
                "--feature-gates=WorkloadWithJob=true",
                "--emulated-version=kube=1.35",
            ],
            "--feature-gates: cannot set feature gate WorkloadWithJob: Kubernetes 1.35 does not have it: remove it, or emulate a later",
        ),
        (
            &["--emulated-version=kube=1.99"],
            "--emulated-version: cannot emulate \"1.99\"",
        ),
        (
            &["--emulated-version=1.35", "--emulated-version=kube=1.36"],
            "--emulated-version: cannot emulate \"1.35,kube=1.36\"",
        ),
        (
            &["--legacy-service-account-token-clean-up-period=1d"],
            "--legacy-service-account-token-clean-up-period: \"1d\" is no duration",
        ),
        (
            &["--legacy-service-account-token-clean-up-period=0"],
            "--legacy-service-account-token-clean-up-period: it must be longer than zero",
        ),
        (
            &[concat!(
                "--root-ca-file=",
                env!("CARGO_MANIFEST_DIR"),
                "/Cargo.toml"
            )],
            "--root-ca-file: no certificate in ",
        ),
        (
            &["--feature-gates=WorkloadWithJob=true"],
            "--feature-gates: cannot enable feature gate WorkloadWithJob: it depends on GenericWorkload, which is off: enable that one as well",
        ),
    ] {
        let error = parse(args).options().unwrap_err();
        let message = format!("{error:#}");
        assert!(message.starts_with(expected), "{message}");
    }
    for wrong in ["--no-such-flag", "--tls-cert-file=/tmp/c"] {
        assert!(
            Flags::try_parse_from(["controller-manager", wrong]).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn repeated_lists_are_joined_and_of_other_flags_the_last_one_counts() {
    let flags = parse(&[
        "--controllers=replicaset,deployment",
        "--feature-gates=PodDeletionCost=false,MaxUnavailableStatefulSet=false",
        "--concurrent-gc-syncs=1",
        "--leader-elect",
        "--kubeconfig=/first",
        "--controllers=-deployment,job,bootstrapsigner",
        "--feature-gates=kube:MaxUnavailableStatefulSet=true",
        "--concurrent-gc-syncs=2",
        "--leader-elect=false",
        "--kubeconfig=/second",
        "-v=1",
        "-v=4",
    ]);
    let options = flags.options().unwrap();
    let names = options.controllers.iter().map(|controller| controller.name);
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["deployment-controller", "job-controller", "replicaset-controller"],
        "the first mention of a name decides"
    );
    assert_eq!(flags.absent_controllers(), ["bootstrapsigner"]);
    assert_eq!(
        options.gates,
        FeatureGates::parse("PodDeletionCost=false,MaxUnavailableStatefulSet=true").unwrap()
    );
    assert_eq!(options.concurrent_gc_syncs, 2);
    let args = flags.manager_args();
    for expected in [
        "--leader-elect=false",
        "--kubeconfig=/second",
        "--log-level=debug",
    ] {
        assert!(args.iter().any(|arg| arg == expected), "{expected}: {args:?}");
    }
}

#[test]
fn controllers_without_workers_are_refused_by_the_name_of_the_flag() {
    let help = Flags::command().render_long_help().to_string();
    let counts = help.split("--").filter(|part| part.starts_with("concurrent-"));
    let flags: Vec<_> = counts.map(|part| part.split(' ').next().unwrap()).collect();
    assert_eq!(flags.len(), 11, "{flags:?}");
    for flag in flags {
        let zero = format!("--{flag}=0");
        let error = Flags::try_parse_from(["controller-manager", &zero]).unwrap_err();
        assert!(error.to_string().contains(flag), "{error}");
    }
}

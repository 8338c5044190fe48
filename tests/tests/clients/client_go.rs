//! client-go: informers of built-in and custom kinds, with lists and with streaming lists, and leader election. The Go program is in
//! `tests/go`.

use std::{collections::BTreeSet, path::PathBuf, process::Command, sync::LazyLock, time::Duration};

use kubewright_testkit::{ChildProcess, Cluster, PermissionUnit, eventually};
use kubewright_tests::new_object;
use serde_json::json;

use crate::followed_kind::{CachedObjects, FollowedKind, lock_history};

/// Like `on_both_servers!`, but all generated tests are ignored, since they need Go.
macro_rules! with_go {
    ($($test:ident),+ $(,)?) => {
        mod embedded {
            $(
                #[test]
                #[ignore = "needs Go 1.26 or newer, with which it builds tests/go"]
                fn $test() { super::$test(&kubewright_tests::embedded()) }
            )+
        }
        mod real {
            $(
                #[test]
                #[ignore = "needs Go and a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
                fn $test() { super::$test(kubewright_tests::real()) }
            )+
        }
    };
}

with_go!(
    informers_follow_with_lists,
    informers_follow_with_streaming_lists,
    second_candidate_leads_after_the_first_releases_the_lease
);

fn informers_follow_with_lists(cluster: &Cluster) {
    informers_follow(cluster, "go-lists", "false");
}

fn informers_follow_with_streaming_lists(cluster: &Cluster) {
    informers_follow(cluster, "go-streams", "true");
}

fn informers_follow(cluster: &Cluster, name: &str, streams: &str) {
    let _history = lock_history();
    let maps = FollowedKind::config_maps(cluster, &format!("{name}-maps"));
    let notes = FollowedKind::notes(cluster, &format!("{name}-notes"));
    for (followed, kind) in [(maps, "ConfigMap"), (notes, "Note")] {
        let informer = cluster
            .launch(&followed.reader, &*GO_PROGRAM)
            .args(["informer", &followed.namespace, kind])
            .env("KUBE_FEATURE_WatchListClient", streams)
            .start()
            .expect("the program starts");
        followed.check_follower(|| cached_objects(&informer));
        let lists = followed.lists();
        assert_eq!(lists == 0, streams == "true", "the informer sent {lists} lists");
    }
}

/// Applies the lines that the informer has printed, and returns the resulting objects.
fn cached_objects(informer: &ChildProcess) -> CachedObjects {
    let mut cached = CachedObjects::new();
    for line in informer.log().lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["set", name, version, text] => {
                cached.insert(name.to_owned(), (version.to_owned(), text.to_owned()));
            }
            ["gone", name] => {
                cached.remove(name);
            }
            _ => {}
        }
    }
    cached
}

fn second_candidate_leads_after_the_first_releases_the_lease(cluster: &Cluster) {
    let permissions = [PermissionUnit::new(
        "coordination.k8s.io",
        "leases",
        ["get", "create", "update"],
    )];
    let identity = cluster.operator("go-leaders", &permissions).expect("an operator");
    let mut candidates = cluster
        .launch(&identity, &*GO_PROGRAM)
        .args(["leaders", "go-leaders-system"])
        .start()
        .expect("the program starts");
    let ended = candidates
        .wait(Duration::from_mins(1))
        .expect("the program exits");
    assert!(ended.expect("the program exits in time").success());
    let log = candidates.log();
    let changes: Vec<&str> = log
        .lines()
        .filter_map(|line| line.strip_prefix("leader: "))
        .filter(|line| !line.contains("sees"))
        .collect();
    assert_eq!(
        changes,
        ["first leads", "first stops", "second leads", "second stops"]
    );
    let seen: BTreeSet<&str> = log.lines().filter(|line| line.contains("second sees")).collect();
    assert_eq!(
        seen,
        BTreeSet::from(["leader: second sees first", "leader: second sees second"])
    );
    let lease = new_object(
        "coordination.k8s.io/v1",
        "Lease",
        "go-leaders-system",
        "candidates",
    );
    let lease = cluster
        .get(&lease)
        .expect("the request succeeds")
        .expect("the lease");
    assert_eq!(
        lease["spec"]["holderIdentity"],
        json!(""),
        "the lease was not released: {lease}"
    );
    eventually(
        "the audit log shows exactly the permitted requests",
        Duration::from_secs(10),
        || {
            let audit = cluster.audit().expect("an audit log");
            audit.check_exact(&permissions, identity.user())
        },
    );
}

/// The Go program's path. It is built once per process, with the flags of the control plane's build: so Go's cache has nearly all of its
/// packages.
static GO_PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("client-go");
    let built = Command::new("go")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/go"))
        .envs([("CGO_ENABLED", "0"), ("GOWORK", "off"), ("GOFLAGS", "")])
        .args(["build", "-mod=readonly", "-trimpath", "-buildvcs=false"])
        .args(["-gcflags=all=-dwarf=false", "-o"])
        .arg(&program)
        .arg(".")
        .output()
        .expect("Go 1.26 or newer is on PATH");
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    program
});

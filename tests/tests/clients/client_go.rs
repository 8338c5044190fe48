//! client-go: informers of built-in and custom kinds, by lists and by streams; leader election. The program is `tests/go`.

use std::{collections::BTreeSet, path::PathBuf, process::Command, sync::LazyLock, time::Duration};

use kubewright_testkit::{ChildProcess, Cluster, PermissionUnit, eventually};
use kubewright_tests::named;
use serde_json::json;

use crate::world::{Copy, World};

/// As `on_both_servers!`, but both need Go.
macro_rules! with_go {
    ($($story:ident),+ $(,)?) => {
        mod embedded {
            $(
                #[test]
                #[ignore = "needs Go 1.26 or newer, with which it builds tests/go"]
                fn $story() { super::$story(&kubewright_tests::embedded()) }
            )+
        }
        mod real {
            $(
                #[test]
                #[ignore = "needs Go and a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
                fn $story() { super::$story(kubewright_tests::real()) }
            )+
        }
    };
}

with_go!(
    informers_follow_by_lists,
    informers_follow_by_streams,
    the_second_leads_when_the_first_ends
);

fn informers_follow_by_lists(cluster: &Cluster) {
    informers_follow(cluster, "go-lists", "false");
}

fn informers_follow_by_streams(cluster: &Cluster) {
    informers_follow(cluster, "go-streams", "true");
}

fn informers_follow(cluster: &Cluster, name: &str, streams: &str) {
    let maps = World::of_maps(cluster, &format!("{name}-maps"));
    let notes = World::of_notes(cluster, &format!("{name}-notes"));
    for (world, kind) in [(maps, "ConfigMap"), (notes, "Note")] {
        let informer = cluster
            .launch(&world.reader, &*PROGRAM)
            .args(["informer", &world.namespace, kind])
            .env("KUBE_FEATURE_WatchListClient", streams)
            .start()
            .expect("it starts");
        world.try_follower(|| copy(&informer));
        let lists = world.lists();
        assert_eq!(lists == 0, streams == "true", "{lists} lists");
    }
}

/// What the lines make.
fn copy(informer: &ChildProcess) -> Copy {
    let mut copy = Copy::new();
    for line in informer.log().lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["set", name, version, text] => {
                copy.insert(name.to_owned(), (version.to_owned(), text.to_owned()));
            }
            ["gone", name] => {
                copy.remove(name);
            }
            _ => {}
        }
    }
    copy
}

fn the_second_leads_when_the_first_ends(cluster: &Cluster) {
    let rights = [PermissionUnit::new(
        "coordination.k8s.io",
        "leases",
        ["get", "create", "update"],
    )];
    let identity = cluster.operator("go-leaders", &rights).expect("an operator");
    let mut candidates = cluster
        .launch(&identity, &*PROGRAM)
        .args(["leaders", "go-leaders-system"])
        .start()
        .expect("it starts");
    let ended = candidates.wait(Duration::from_mins(1)).expect("it ends");
    assert!(ended.expect("in time").success());
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
    let lease = named(
        "coordination.k8s.io/v1",
        "Lease",
        "go-leaders-system",
        "candidates",
    );
    let lease = cluster.get(&lease).expect("asked").expect("the lease");
    assert_eq!(lease["spec"]["holderIdentity"], json!(""), "given back: {lease}");
    eventually("the audit log is exact", Duration::from_secs(10), || {
        let audit = cluster.audit().expect("an audit log");
        audit.check_exact(&rights, identity.user())
    });
}

/// Built once; where nothing changed, Go's cache has it.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("client-go");
    let built = Command::new("go")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/go"))
        .envs([("CGO_ENABLED", "0"), ("GOWORK", "off"), ("GOFLAGS", "")])
        .args(["build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-o"])
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

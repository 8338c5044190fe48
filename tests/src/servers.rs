//! Runs one test body against two API servers: the embedded one, which plain `cargo test` uses, and a real kube-apiserver.

use std::sync::LazyLock;

use kubewright_testkit::{Cluster, ControlPlane};

/// Generates two tests for each function that takes a [`Cluster`]: `embedded::name`, and `real::name`, which is `#[ignore]`d.
#[macro_export]
macro_rules! on_both_servers {
    ($($test:ident),+ $(,)?) => {
        mod embedded {
            $(#[test] fn $test() { super::$test(&$crate::embedded()) })+
        }
        mod real {
            $(
                #[test]
                #[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
                fn $test() { super::$test($crate::real()) }
            )+
        }
    };
}

/// Starts an embedded API server that only the calling test uses.
///
/// # Panics
///
/// If the API server does not start.
pub fn embedded() -> Cluster {
    Cluster::embedded().expect("an API server")
}

/// Returns the real control plane, with the controllers running that the embedded server has: those that collect garbage and aggregate roles.
///
/// All tests of a process share it, so each test must use namespaces of its own.
///
/// # Panics
///
/// If the control plane does not start.
pub fn real() -> &'static Cluster {
    static REAL: LazyLock<Cluster> = LazyLock::new(|| {
        let controllers = [
            "clusterrole-aggregation-controller",
            "garbage-collector-controller",
        ];
        let builder = ControlPlane::builder().controller_manager(&controllers);
        Cluster::start_real(builder).expect("a control plane")
    });
    &REAL
}

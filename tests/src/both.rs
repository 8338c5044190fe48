//! One body a test, two servers: the embedded one, with which plain `cargo test` runs it, and the real one.

use std::sync::LazyLock;

use kubewright_testkit::{Cluster, ControlPlane};

/// Makes two tests of each function that takes a [`Cluster`]: `embedded::name`, and `real::name`, which plain `cargo test` ignores.
#[macro_export]
macro_rules! on_both_servers {
    ($($story:ident),+ $(,)?) => {
        mod embedded {
            $(#[test] fn $story() { super::$story(&$crate::embedded()) })+
        }
        mod real {
            $(
                #[test]
                #[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
                fn $story() { super::$story($crate::real()) }
            )+
        }
    };
}

/// An embedded API server of the test's own.
///
/// # Panics
///
/// When it does not start.
pub fn embedded() -> Cluster {
    Cluster::embedded().expect("an API server")
}

/// A real control plane, which collects garbage as the embedded one does. The tests of a process share it, so that they work in
/// namespaces of their own.
///
/// # Panics
///
/// When there is none.
pub fn real() -> &'static Cluster {
    static REAL: LazyLock<Cluster> = LazyLock::new(|| {
        let builder = ControlPlane::builder().controller_manager(&["garbage-collector-controller"]);
        Cluster::start_real(builder).expect("a control plane")
    });
    &REAL
}

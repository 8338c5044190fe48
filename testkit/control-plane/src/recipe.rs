//! The Go module that the control plane is built from, its programs, and the folder that it is built into.

use std::ffi::OsString;
use std::path::PathBuf;

/// The Go module with the programs and their versions.
pub const GO_MOD: &str = include_str!("../go.mod");

/// The checksums of all dependencies of [`GO_MOD`].
pub const GO_SUM: &str = include_str!("../go.sum");

/// The API server.
pub const KUBE_APISERVER: &str = "kube-apiserver";
/// The storage of the API server.
pub const ETCD: &str = "etcd";
/// The controllers of Kubernetes.
pub const KUBE_CONTROLLER_MANAGER: &str = "kube-controller-manager";
/// The scheduler.
pub const KUBE_SCHEDULER: &str = "kube-scheduler";
/// The command line client.
pub const KUBECTL: &str = "kubectl";

/// The programs, with the Go packages that they are built from.
pub const PROGRAMS: [(&str, &str); 5] = [
    (ETCD, "go.etcd.io/etcd/server/v3"),
    (KUBE_APISERVER, "k8s.io/kubernetes/cmd/kube-apiserver"),
    (
        KUBE_CONTROLLER_MANAGER,
        "k8s.io/kubernetes/cmd/kube-controller-manager",
    ),
    (KUBE_SCHEDULER, "k8s.io/kubernetes/cmd/kube-scheduler"),
    (KUBECTL, "k8s.io/kubernetes/cmd/kubectl"),
];

/// The version of Kubernetes that is built, such as `v1.36.3`.
pub fn kubernetes_version() -> &'static str {
    GO_MOD
        .lines()
        .filter(|line| !line.contains("=>"))
        .find_map(|line| {
            line.trim()
                .trim_start_matches("require ")
                .strip_prefix("k8s.io/kubernetes ")
        })
        .map_or("unknown", |rest| {
            rest.split_whitespace().next().unwrap_or("unknown")
        })
}

/// The folder of this build: `control-plane/<version>-<hash>` in the cache folder, none without a cache folder. The hash covers the
/// module and the platform, so that a changed module gets another folder.
///
/// The cache folder is `$KUBEWRIGHT_CACHE`, else `$XDG_CACHE_HOME/kubewright`, else `~/.cache/kubewright`: not Cargo's target folder, so
/// that the build survives `cargo clean`.
pub fn build_folder() -> Option<PathBuf> {
    let cache = cache_folder(|name| std::env::var_os(name), std::env::home_dir())?;
    Some(
        cache
            .join("control-plane")
            .join(format!("{}-{:016x}", kubernetes_version(), fingerprint())),
    )
}

fn cache_folder(variable: impl Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    // A relative path would be a different folder in each package's tests.
    let folder = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    folder("KUBEWRIGHT_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("kubewright")))
        .or_else(|| home.map(|home| home.join(".cache/kubewright")))
}

/// FNV-1a: stable across compilers. A cache folder's name needs no protection against collisions.
fn fingerprint() -> u64 {
    [GO_MOD, GO_SUM, std::env::consts::OS, std::env::consts::ARCH]
        .iter()
        .flat_map(|part| part.bytes().chain([0]))
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(variables: &[(&str, &str)]) -> Option<PathBuf> {
        let lookup = |name: &str| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.into())
        };
        cache_folder(lookup, Some("/home/me".into()))
    }

    #[test]
    fn version_matches_go_sum_and_staging_modules() {
        let version = kubernetes_version();
        assert!(version.starts_with("v1."), "{version}");
        assert!(
            GO_SUM.contains(&format!("k8s.io/kubernetes {version} h1:")),
            "go.sum lacks {version}"
        );
        let staging = version.replacen("v1.", "v0.", 1);
        assert!(
            GO_MOD.contains(&format!("replace (\n\tk8s.io/api => k8s.io/api {staging}\n")),
            "{staging}"
        );
    }

    #[test]
    fn cache_folder_prefers_own_variable_then_xdg_then_home() {
        let own = ("KUBEWRIGHT_CACHE", "/own");
        let xdg = ("XDG_CACHE_HOME", "/xdg");
        assert_eq!(cache(&[own, xdg]), Some("/own".into()));
        assert_eq!(cache(&[xdg]), Some("/xdg/kubewright".into()));
        assert_eq!(cache(&[]), Some("/home/me/.cache/kubewright".into()));
        assert_eq!(
            cache(&[("KUBEWRIGHT_CACHE", "relative"), xdg]),
            Some("/xdg/kubewright".into())
        );
    }
}

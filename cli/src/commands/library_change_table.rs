//! Renamed items and changed methods of the libraries, by release: a release adds its lines, as it adds them to CHANGELOG.md. Lines of
//! releases from which nobody upgrades any more can go.

use crate::source::Rename;

/// The crates whose items a project's code and tests name.
pub(super) const RUNTIME: &str = "kubewright";
const TESTKIT: &str = "kubewright_testkit";
const APISERVER: &str = "kubewright_apiserver";

/// An item that got another name.
pub(super) struct RenamedItem {
    /// The release that has the new name.
    pub(super) release: &'static str,
    pub(super) krate: &'static str,
    pub(super) rename: Rename<'static>,
}

/// A method that changed. The tree does not know the type on which a method is called, so its calls are listed.
pub(super) struct ChangedMethod {
    pub(super) release: &'static str,
    pub(super) krate: &'static str,
    pub(super) method: &'static str,
    pub(super) advice: &'static str,
}

/// A module that is no longer where it was.
pub(super) struct MovedModule {
    pub(super) release: &'static str,
    pub(super) krate: &'static str,
    pub(super) module: &'static str,
    pub(super) advice: &'static str,
}

pub(super) const RENAMES: [RenamedItem; 36] = [
    renamed(RUNTIME, "ObjectName", "NamespacedName", &[RUNTIME, "prelude"]),
    renamed(
        RUNTIME,
        "ObjectNameError",
        "NamespacedNameError",
        &[RUNTIME, "prelude"],
    ),
    renamed(RUNTIME, "KindInfo", "ApiResource", &[RUNTIME, "prelude"]),
    renamed(
        RUNTIME,
        "ControllerSpec",
        "ControllerBuilder",
        &["controller", "prelude"],
    ),
    renamed(RUNTIME, "Place", "PermissionScope", &["controller"]),
    renamed(RUNTIME, "Done", "AwaitChange", &["Action"]),
    renamed(RUNTIME, "done", "await_change", &["Action"]),
    renamed(RUNTIME, "After", "RequeueAfter", &["Action"]),
    renamed(RUNTIME, "after", "requeue_after", &["Action"]),
    renamed(RUNTIME, "Again", "Requeue", &["Action"]),
    renamed(RUNTIME, "again", "requeue", &["Action"]),
    renamed(RUNTIME, "Skip", "Ignore", &["OwnEvents"]),
    renamed(RUNTIME, "Wake", "Enqueue", &["OwnEvents"]),
    renamed(RUNTIME, "Keep", "StorageMode", &["cache"]),
    renamed(RUNTIME, "SourceError", "ListWatchError", &["cache"]),
    renamed(RUNTIME, "Chunks", "ByteStream", &["cache"]),
    renamed(RUNTIME, "Listed", "ObjectList", &["client", "prelude"]),
    renamed(RUNTIME, "Answer", "ResponseFuture", &["client"]),
    renamed(RUNTIME, "Answer", "Decode", &["ClientErrorCause"]),
    renamed(RUNTIME, "Damaged", "Invalid", &["ConfigError"]),
    renamed(TESTKIT, "Unit", "PermissionUnit", &[TESTKIT]),
    renamed(TESTKIT, "Mismatch", "PermissionMismatch", &[TESTKIT]),
    renamed(TESTKIT, "Matching", "RequestMatcher", &[TESTKIT]),
    renamed(TESTKIT, "Answer", "Respond", &["Fault"]),
    renamed(TESTKIT, "BreakBefore", "DropRequest", &["Fault"]),
    renamed(TESTKIT, "BreakAfter", "DropResponse", &["Fault"]),
    renamed(APISERVER, "Builder", "ApiServerBuilder", &[APISERVER]),
    renamed(APISERVER, "Front", "ProxyListener", &[APISERVER]),
    renamed(APISERVER, "Asked", "LayerRequest", &["http"]),
    renamed(APISERVER, "Next", "ResponseFuture", &["http"]),
    renamed(APISERVER, "Broken", "ConnectionAborted", &["http"]),
    renamed(APISERVER, "Answer", "ApiResponse", &["http"]),
    renamed(APISERVER, "Mode", "AuthorizationMode", &["auth"]),
    renamed(APISERVER, "Audit", "AuditLog", &["audit"]),
    renamed(APISERVER, "Record", "AuditRecord", &["audit"]),
    renamed(APISERVER, "Owner", "BlockingOwner", &["audit"]),
];

pub(super) const METHODS: [ChangedMethod; 28] = [
    changed(RUNTIME, "wakes_on", "`.wakes_on(…)` is `.watches_stream(…)` now"),
    changed(
        RUNTIME,
        "when",
        "`.when(predicate)` is `Source::of(&informer).with_predicate(predicate)` now, if it is the controller's",
    ),
    changed(
        RUNTIME,
        "expects",
        "`.expects(&expectations)` is `Source::of(&informer).with_expectations(&expectations)` now, if it is the controller's",
    ),
    changed(
        RUNTIME,
        "keep",
        "`.keep(…)` is `.storage(…)` now, if it is of InformerOptions",
    ),
    changed(
        RUNTIME,
        "set_hot_set",
        "`.set_hot_set(…)` is `.set_decoded_cache_bytes(…)` now",
    ),
    changed(
        RUNTIME,
        "without_repeats",
        "`.without_repeats()` is `.without_retries()` now",
    ),
    changed(
        TESTKIT,
        "on",
        "`.on(…)` is `.resource(…)` now if it is RequestMatcher's, `.on_resource(…)` if it is AuditLog's",
    ),
    changed(
        TESTKIT,
        "of",
        "`.of(…)` is `.group(…)` now, if it is RequestMatcher's",
    ),
    changed(
        TESTKIT,
        "by",
        "`.by(…)` is `.user(…)` now, if it is RequestMatcher's",
    ),
    changed(
        TESTKIT,
        "within",
        "`.within(…)` is `.namespace(…)` now, if it is RequestMatcher's",
    ),
    changed(
        TESTKIT,
        "named",
        "`.named(…)` is `.name(…)` now, if it is RequestMatcher's",
    ),
    changed(
        TESTKIT,
        "hold",
        "`.hold(…)` is `.hold_events(…)` now if it is Faults', `.pause()` if it is Proxy's",
    ),
    changed(
        TESTKIT,
        "lose",
        "`.lose(…)` is `.drop_events(…)` now, if it is Faults'",
    ),
    changed(
        TESTKIT,
        "release",
        "`.release(…)` is `.release_events(…)` now if it is Faults', `.resume()` if it is Proxy's",
    ),
    changed(
        TESTKIT,
        "close",
        "`.close(…)` is `.close_watches(…)` now, if it is Faults'",
    ),
    changed(
        TESTKIT,
        "cut",
        "`.cut(…)` is `.break_watches(…)` now if it is Faults', `.break_connections(…)` if it is Proxy's",
    ),
    changed(TESTKIT, "cut_all", "`.cut_all()` is `.break_all()` now"),
    changed(
        TESTKIT,
        "sometimes",
        "`.sometimes(…)` is `.with_probability(…)` now, if it is Faults'",
    ),
    changed(
        TESTKIT,
        "install",
        "`.install(…)` is `.install_crd(…)` now, if it is Cluster's",
    ),
    changed(
        TESTKIT,
        "merge",
        "`.merge(…)` is `.merge_patch(…)` now, if it is Cluster's",
    ),
    changed(
        TESTKIT,
        "merge_status",
        "`.merge_status(…)` is `.patch_status(…)` now",
    ),
    changed(
        TESTKIT,
        "namespace",
        "`.namespace(…)` is `.create_namespace(…)` now, if it is Cluster's",
    ),
    changed(
        TESTKIT,
        "in_process",
        "`.in_process()` is `.embedded_server()` now",
    ),
    changed(
        TESTKIT,
        "real",
        "`.real()` is `.control_plane()` now, if it is Cluster's",
    ),
    changed(TESTKIT, "through", "`.through(…)` is `.via_proxy(…)` now"),
    changed(
        TESTKIT,
        "expire",
        "`.expire(…)` is `.expire_watches(…)` now, if it is Cluster's",
    ),
    changed(
        APISERVER,
        "audited",
        "`.audited(…)` is `.audit_capacity(…)` now, if it is ApiServerBuilder's",
    ),
    changed(
        APISERVER,
        "client_authority",
        "`.client_authority(…)` is `.client_ca(…)` now, if it is ApiServerBuilder's",
    ),
];

/// Modules that are somewhere else: the lines that name one are listed.
pub(super) const MOVED_MODULES: [MovedModule; 1] = [MovedModule {
    release: "0.1.0",
    krate: TESTKIT,
    module: "control_plane_build",
    advice: "the module `control_plane_build` is the crate `kubewright_control_plane` now: add it to Cargo.toml",
}];

/// An item that the first release renamed.
const fn renamed(
    krate: &'static str,
    old: &'static str,
    new: &'static str,
    parents: &'static [&'static str],
) -> RenamedItem {
    RenamedItem {
        release: "0.1.0",
        krate,
        rename: Rename { old, new, parents },
    }
}

/// A method that the first release changed.
const fn changed(krate: &'static str, method: &'static str, advice: &'static str) -> ChangedMethod {
    ChangedMethod {
        release: "0.1.0",
        krate,
        method,
        advice,
    }
}

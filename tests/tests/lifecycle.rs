//! From `kubewright new` to a reconciled object, under the generated Role.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use http::{Request, StatusCode, header::CONTENT_TYPE};
use kube::{Client, Config, client::Body};
use kubewright_testkit::{Cluster, Fault, Identity, RequestMatcher, eventually};
use kubewright_tests::{
    DeployedProject, Operator, Project, condition, new_object, on_both_servers, read_manifests,
};
use serde_json::{Value, json};

const RECONCILE_TIMEOUT: Duration = Duration::from_mins(1);

on_both_servers!(
    scaffolded_operator_reconciles_under_its_generated_role,
    missing_role_rule_is_reported_with_a_fix,
);

fn scaffolded_operator_reconciles_under_its_generated_role(cluster: &Cluster) {
    let project = Project::scaffold("lifecycle", "Foo", &[]);
    if let Some(plane) = cluster.control_plane() {
        // As the project's README says, before any other command.
        let manifests = project.root().join("manifests");
        let apply = [
            "apply",
            "--server-side",
            "--kustomize",
            &manifests.to_string_lossy(),
        ];
        let applied = plane.kubectl().run(apply);
        applied.unwrap_or_else(|error| panic!("{error}"));
    }
    for setting in ["network_policy", "dashboard"] {
        let line = |value: bool| format!("{setting} = {value}");
        project.edit("kubewright.toml", &line(false), &line(true));
    }
    project.kubewright(&["generate"]).expect_success();
    project.kubewright(&["generate", "--check"]).expect_success();
    let deployed = DeployedProject::new(cluster, &project, "lifecycle");
    for folder in ["manifests/deploy", "manifests/monitoring"] {
        deployed.apply_folder(&project.root().join(folder));
    }
    cluster.create_namespace("lifecycle").expect("a namespace");
    let foo = new_object("demo.dev/v1alpha1", "Foo", "lifecycle", "example-foo");
    let deployment = new_object("apps/v1", "Deployment", "lifecycle", "example-foo");
    let wait_for = |object: &Value, what: &str, is: &dyn Fn(&Value) -> bool| {
        eventually(what, RECONCILE_TIMEOUT, || match cluster.get(object) {
            Ok(Some(found)) if is(&found) => Ok(found),
            other => Err(format!("{other:?}")),
        })
    };
    let is_observed = |foo: &Value| foo["status"]["observedGeneration"] == foo["metadata"]["generation"];
    // No Deployment controller runs: the test sets the status in its place.
    let set_available = |replicas: i32| {
        let status =
            json!({ "replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas });
        cluster
            .patch_status(&deployment, &status)
            .expect("the status is set");
    };
    let scale = |replicas: i32| {
        let spec = json!({ "spec": { "replicas": replicas } });
        cluster.merge_patch(&foo, &spec).expect("the Foo is scaled");
    };

    let mut operator = deployed.start("first", &[]);
    cluster
        .apply(&sample(&project, "lifecycle"))
        .expect("the sample is accepted");
    let created = wait_for(&deployment, "the owned Deployment", &|_| true);
    assert_eq!(created["spec"]["replicas"], 1);
    let owner = &created["metadata"]["ownerReferences"][0];
    assert_eq!(owner["kind"], "Foo");
    assert_eq!(
        (&owner["controller"], &owner["blockOwnerDeletion"]),
        (&json!(true), &json!(true))
    );
    wait_for(
        &foo,
        "the Foo's first generation is observed and not ready",
        &|foo| foo["status"]["observedGeneration"] == 1 && condition(foo, "Ready")["status"] == "False",
    );
    set_available(1);
    wait_for(&foo, "one replica is available, and the Foo is ready", &|foo| {
        foo["status"]["availableReplicas"] == 1 && condition(foo, "Ready")["status"] == "True"
    });

    // Scale through the spec, twice. The operator scales the Deployment and sends the same event twice: one Event with count 2.
    for replicas in [2, 3] {
        scale(replicas);
        wait_for(&deployment, "the Deployment is scaled", &|deployment| {
            deployment["spec"]["replicas"] == replicas
        });
        wait_for(&foo, "the Foo's generation is observed", &is_observed);
    }
    let event = eventually("the scaling event, with count 2", RECONCILE_TIMEOUT, || {
        let events = cluster
            .list(&new_object("events.k8s.io/v1", "Event", "lifecycle", ""))
            .map_err(|error| error.to_string())?;
        let is_scaling = |event: &&Value| event["reason"] == "Updated" && event["series"]["count"] == 2;
        events
            .iter()
            .find(is_scaling)
            .cloned()
            .ok_or(format!("{events:?}"))
    });
    assert_eq!(event["regarding"]["name"], "example-foo");
    assert_eq!(event["type"], "Normal");
    kubernetes_roles_edit_and_view_the_kind(cluster, &sample(&project, "lifecycle"));

    // Kill the operator in the middle of a change, without cleanup; the next replica continues from the state that it finds.
    operator.process.kill().expect("the operator is killed");
    scale(4);
    set_available(3);
    let mut operator = deployed.start("second", &["--metrics-secure"]);
    metrics_need_a_token_and_a_permission(cluster, &operator);
    let caught_up = wait_for(&foo, "the restarted operator updates the Foo", &|foo| {
        foo["status"]["availableReplicas"] == 3 && is_observed(foo)
    });
    let ready = condition(&caught_up, "Ready");
    assert_eq!(
        ready["status"], "False",
        "Ready although only 3 of 4 replicas are available: {ready}"
    );

    // Deleting the Foo deletes the Deployment through its owner reference.
    cluster.delete(&foo).expect("the object is deleted");
    eventually(
        "the Deployment is garbage-collected",
        RECONCILE_TIMEOUT,
        || match cluster.get(&deployment) {
            Ok(None) => Ok(()),
            other => Err(format!("{other:?}")),
        },
    );

    // A graceful shutdown releases the lease, so the next replica need not wait until it expires.
    let ended = operator
        .process
        .terminate(Duration::from_secs(30))
        .expect("the operator exits")
        .expect("the operator exits in time");
    assert!(ended.success(), "{ended}: {}", operator.process.log_tail());
    let lease = new_object("coordination.k8s.io/v1", "Lease", "lifecycle-system", "lifecycle");
    let lease = cluster
        .get(&lease)
        .expect("the request succeeds")
        .expect("the lease");
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
    assert!(holder.is_empty(), "{lease}");

    cluster
        .audit()
        .expect("an audit log")
        .assert_exact(&deployed.permissions(), deployed.user());
}

/// Kubernetes' roles `edit` and `view` include the generated roles of the kind, in the namespace where they are bound.
fn kubernetes_roles_edit_and_view_the_kind(cluster: &Cluster, sample: &Value) {
    let [editor, viewer] = ["edit", "view"].map(|role| {
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"namespace": "lifecycle", "name": role},
            "subjects": [{"kind": "ServiceAccount", "namespace": "lifecycle", "name": role}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        });
        cluster.apply(&binding).expect("the binding is accepted");
        cluster.service_account("lifecycle", role).expect("a service account")
    });
    let foos = |namespace: &str| format!("/apis/demo.dev/v1alpha1/namespaces/{namespace}/foos");
    let list = |namespace: &str| Request::get(foos(namespace)).body(Vec::new()).expect("a request");
    // Nothing is stored.
    let create = |namespace: &str| {
        let mut foo = sample.clone();
        foo["metadata"] = json!({"name": "edited", "namespace": namespace});
        let request = Request::post(foos(namespace) + "?dryRun=All").header(CONTENT_TYPE, "application/json");
        request.body(foo.to_string().into_bytes()).expect("a request")
    };
    let write_status = || {
        let path = foos("lifecycle") + "/example-foo/status?dryRun=All";
        let request = Request::patch(path).header(CONTENT_TYPE, "application/merge-patch+json");
        request.body(b"{}".to_vec()).expect("a request")
    };
    eventually("the roles are aggregated", Duration::from_secs(30), || {
        let codes = [
            send(&viewer, list("lifecycle")),
            send(&editor, create("lifecycle")),
        ];
        if codes == [StatusCode::OK, StatusCode::CREATED] {
            Ok(())
        } else {
            Err(format!("{codes:?}"))
        }
    });
    assert_eq!(send(&editor, list("lifecycle")), StatusCode::OK);
    for (what, identity, request) in [
        ("view creates", &viewer, create("lifecycle")),
        ("view writes the status", &viewer, write_status()),
        (
            "edit writes the status, which is the operator's",
            &editor,
            write_status(),
        ),
        ("edit creates in another namespace", &editor, create("default")),
        ("view lists another namespace", &viewer, list("default")),
    ] {
        assert_eq!(send(identity, request), StatusCode::FORBIDDEN, "{what}");
    }
}

/// Sends a request as this identity, and returns the code of the response.
#[tokio::main(flavor = "current_thread")]
async fn send(identity: &Identity, request: Request<Vec<u8>>) -> StatusCode {
    let config = identity.config().await.expect("its configuration");
    let client = Client::try_from(config).expect("a client");
    let response = client.send(request.map(Body::from)).await;
    response.expect("a response").status()
}

/// The ClusterRole that a client needs is the generated one.
fn metrics_need_a_token_and_a_permission(cluster: &Cluster, operator: &Operator) {
    let scraper = |name: &str| {
        let identity = cluster.service_account("lifecycle", name);
        identity.expect("a service account").token().to_owned()
    };
    let (allowed, other) = (scraper("scraper"), scraper("other"));
    let address = operator.address("metrics");
    assert!(plain_get(&address).is_none(), "metrics are served without TLS");
    assert_eq!(scrape(&address, None).0, StatusCode::UNAUTHORIZED);
    assert_eq!(scrape(&address, Some("garbage")).0, StatusCode::UNAUTHORIZED);
    let (code, text) = scrape(&address, Some(&allowed));
    assert_eq!(code, StatusCode::FORBIDDEN, "{text}");
    assert!(text.contains("cannot get path \"/metrics\""), "{text}");

    let mut binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "lifecycle-scraper"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "lifecycle", "name": "scraper"}],
    });
    binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "lifecycle-metrics-reader"});
    cluster.apply(&binding).expect("the binding is accepted");
    // The refusal is remembered for 10 seconds.
    let metrics = eventually("the scrape is allowed", Duration::from_secs(30), || match scrape(
        &address,
        Some(&allowed),
    ) {
        (StatusCode::OK, text) => Ok(text),
        refused => Err(format!("{refused:?}")),
    });
    assert!(metrics.contains("# TYPE workqueue_depth gauge"), "{metrics}");

    // Without the API server's answer there is no access, except for what was allowed before.
    let reviews = RequestMatcher::verb("create").resource("tokenreviews");
    let fault = cluster.faults().always(reviews, Fault::DropRequest);
    assert_eq!(
        scrape(&address, Some(&other)).0,
        StatusCode::INTERNAL_SERVER_ERROR
    );
    assert_eq!(scrape(&address, Some(&allowed)).0, StatusCode::OK);
    assert!(fault.hits() > 0);
    fault.remove();
    assert_eq!(scrape(&address, Some(&other)).0, StatusCode::FORBIDDEN);

    // Health checks stay plain.
    let healthy = plain_get(&operator.address("health checks")).expect("plain health checks");
    assert!(healthy.starts_with("HTTP/1.1 404"), "{healthy}");
}

/// Gets `/metrics` over TLS, with any certificate.
#[tokio::main(flavor = "current_thread")]
async fn scrape(address: &str, token: Option<&str>) -> (StatusCode, String) {
    let url = format!("https://{address}").parse().expect("a URL");
    let mut config = Config::new(url);
    config.accept_invalid_certs = true;
    config.auth_info.token = token.map(|token| token.to_owned().into());
    let client = Client::try_from(config).expect("a client");
    let request = Request::get("/metrics").body(Body::empty()).expect("a request");
    let response = client.send(request).await.expect("a response");
    let (head, body) = response.into_parts();
    let body = body.collect_bytes().await.expect("the body");
    (head.status, String::from_utf8_lossy(&body).into_owned())
}

/// Gets `/metrics` over plain HTTP; none if the server does not speak it.
fn plain_get(address: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let request = "GET /metrics HTTP/1.1\r\nHost: operator\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("the request is sent");
    let mut response = String::new();
    stream.read_to_string(&mut response).ok()?;
    response.starts_with("HTTP/").then_some(response)
}

fn missing_role_rule_is_reported_with_a_fix(cluster: &Cluster) {
    let project = Project::scaffold("negative", "Nay", &[]);
    project.kubewright(&["generate"]).expect_success();
    let deployed = DeployedProject::new(cluster, &project, "negative");
    cluster.create_namespace("negative").expect("a namespace");
    let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "negative" } });
    let complete = cluster
        .get(&role)
        .expect("the request succeeds")
        .expect("the generated role")["rules"]
        .clone();
    let put_rules = |rules: &Value| {
        cluster
            .merge_patch(&role, &json!({ "rules": rules }))
            .expect("the role is changed");
    };

    // Each of these rules is required: without it a request is forbidden, and the operator logs which one and how to fix it.
    for (resource, logged) in [
        ("deployments", "deployments"),
        ("nays/status", "nays/status"),
        ("nays/finalizers", "blockOwnerDeletion"),
    ] {
        let mut rules = complete.clone();
        let mut weakened = 0;
        for rule in rules.as_array_mut().expect("rules") {
            let resources = rule["resources"].as_array_mut().expect("resources");
            if resources.iter().any(|name| name == resource) {
                // Keep read access to Deployments: without synced caches the operator would not write at all.
                if resource == "deployments" {
                    rule["verbs"] = json!(["list", "watch"]);
                } else {
                    resources.retain(|name| name != resource);
                    if resources.is_empty() {
                        rule["resources"] = json!(["none"]);
                    }
                }
                weakened += 1;
            }
        }
        assert!(weakened > 0, "no rule for {resource}: {complete}");
        put_rules(&rules);

        let operator = deployed.start("denied", &[]);
        let sample = sample(&project, "negative");
        cluster.apply(&sample).expect("the sample is accepted");
        operator.wait_for_log("forbidden");
        operator.wait_for_log(logged);
        operator.wait_for_log("kubewright generate");
        let audit = cluster.audit().expect("an audit log");
        let forbidden = audit.by_user(deployed.user()).forbidden();
        assert!(
            !forbidden.is_empty(),
            "nothing is forbidden without the rule for {resource}"
        );
        drop(operator);

        put_rules(&complete);
        cluster.delete(&sample).expect("the object is deleted");
        let deployment = new_object("apps/v1", "Deployment", "negative", "example-nay");
        eventually("the Deployment is deleted", RECONCILE_TIMEOUT, || {
            match cluster.get(&deployment) {
                Ok(None) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        });
    }
}

/// Returns the generated sample, moved to the test's namespace.
fn sample(project: &Project, namespace: &str) -> Value {
    let samples = read_manifests(&project.root().join("manifests/samples"));
    let [mut sample]: [Value; 1] = samples.try_into().expect("one sample");
    sample["metadata"]["namespace"] = namespace.into();
    sample
}

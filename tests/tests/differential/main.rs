//! The same requests to the embedded API server and to the real one: the same answers.
//!
//! `cases.json` has the cases: requests in order, each with the code that the real server answers with. On the embedded server alone the
//! codes are compared; beside the real one, the bodies too, less what no two servers have in common: uids, versions, times, addresses.

mod normal;

use http::Request;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kubewright_apiserver::{ApiServer, auth::User};
use kubewright_testkit::ControlPlane;
use serde::Deserialize;
use serde_json::Value;
use std::fmt::Write as _;
use std::time::Duration;

#[derive(Deserialize)]
struct Case {
    name: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    method: String,
    path: String,
    body: Option<Value>,
    /// A body that is no JSON.
    text: Option<String>,
    #[serde(rename = "type")]
    content_type: Option<String>,
    accept: Option<String>,
    /// Who asks, if not the administrator.
    r#as: Option<String>,
    code: u16,
    /// Asked again and again, until the answer has that code.
    #[serde(default)]
    until: bool,
}

/// An answer: the code and the body.
#[derive(PartialEq)]
struct Answer(u16, Value);

/// A server, as the administrator, as alice and as nobody sees it.
struct Subject {
    admin: Client,
    alice: Client,
    nobody: Client,
}

impl Subject {
    async fn client(kubeconfig: Kubeconfig, token: Option<&str>) -> Client {
        let mut kubeconfig = kubeconfig;
        if let Some(token) = token {
            for user in &mut kubeconfig.auth_infos {
                user.auth_info.as_mut().unwrap().token = Some(token.to_owned().into());
            }
        }
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .unwrap();
        Client::try_from(config).unwrap()
    }

    async fn of(admin: Kubeconfig, alice: &str) -> Self {
        Self {
            admin: Self::client(admin.clone(), None).await,
            alice: Self::client(admin.clone(), Some(alice)).await,
            nobody: Self::client(admin, Some("nobody's")).await,
        }
    }

    async fn embedded(server: &ApiServer) -> Self {
        let kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig()).unwrap();
        Self::of(kubeconfig, "alice-token").await
    }

    async fn real(plane: &ControlPlane) -> Self {
        let kubeconfig = Kubeconfig::read_from(plane.admin().kubeconfig()).unwrap();
        Self::of(kubeconfig, plane.user("alice").unwrap().token()).await
    }

    async fn ask(&self, step: &Step) -> Answer {
        loop {
            let answer = self.ask_once(step).await;
            if !step.until || answer.0 == step.code {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn ask_once(&self, step: &Step) -> Answer {
        let client = match step.r#as.as_deref() {
            None => &self.admin,
            Some("alice") => &self.alice,
            Some(_) => &self.nobody,
        };
        let body = step
            .body
            .as_ref()
            .map(Value::to_string)
            .or_else(|| step.text.clone());
        let mut request = Request::builder()
            .method(step.method.as_str())
            .uri(&step.path)
            .header("User-Agent", "differential/1")
            .header("Accept", step.accept.as_deref().unwrap_or("application/json"));
        if body.is_some() {
            request = request.header(
                "Content-Type",
                step.content_type.as_deref().unwrap_or("application/json"),
            );
        }
        let request = request
            .body(Body::from(body.unwrap_or_default().into_bytes()))
            .unwrap();
        let response = client.send(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect_bytes().await.unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let value = serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned()));
        Answer(code, normal::of(value))
    }
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("cases.json")).unwrap()
}

async fn embedded() -> ApiServer {
    let alice = User::new("alice", &["devs"]);
    ApiServer::builder()
        .token("alice-token", alice)
        .start()
        .await
        .unwrap()
}

#[tokio::test]
async fn the_embedded_server_answers_with_the_real_ones_codes() {
    let server = embedded().await;
    let subject = Subject::embedded(&server).await;
    let mut wrong = String::new();
    for case in cases() {
        for step in &case.steps {
            let Answer(code, body) = subject.ask(step).await;
            if code != step.code {
                let _ = writeln!(
                    wrong,
                    "{}: {} {}: {code}, not {}: {body}",
                    case.name, step.method, step.path, step.code
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
async fn both_servers_answer_alike() {
    let plane = tokio::task::spawn_blocking(|| ControlPlane::builder().user("alice", &["devs"]).start())
        .await
        .unwrap()
        .unwrap();
    let server = embedded().await;
    let (ours, theirs) = (Subject::embedded(&server).await, Subject::real(&plane).await);
    let mut wrong = String::new();
    for case in cases() {
        for step in &case.steps {
            let (here, there) = (ours.ask(step).await, theirs.ask(step).await);
            assert_eq!(
                there.0, step.code,
                "the real server: {} {}",
                step.method, step.path
            );
            if here != there {
                let Answer(code, body) = there;
                let _ = writeln!(
                    wrong,
                    "{}: {} {}\n  real     {code} {body}",
                    case.name, step.method, step.path
                );
                let _ = writeln!(wrong, "  embedded {} {}", here.0, here.1);
            }
        }
    }
    tokio::task::spawn_blocking(move || drop(plane)).await.unwrap();
    assert!(wrong.is_empty(), "{wrong}");
}

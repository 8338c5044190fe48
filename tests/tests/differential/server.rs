//! A server under comparison, and a client that runs the steps of cases against it.

use crate::case::{Case, Step};
use crate::json_bytes;
use crate::normalize::Normalizer;
use crate::protobuf;
use crate::webhook::WebhookServer;
use crate::yaml;
use http::Request;
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kubewright_apiserver::ApiServer;
use kubewright_testkit::{ControlPlane, binaries};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Child;

/// Longest wait for the next event of a watch.
const STEP_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest wait for the response that a step expects. The real garbage collector retries after up to minutes on a busy machine.
const UNTIL_TIMEOUT: Duration = Duration::from_mins(2);

/// The name by which a Service reaches the webhook server.
const WEBHOOK_SERVICE: &str = "hook.webhooks-by-service.svc";

/// The key of a result that says that the response has nothing at the step's `pick`. On the real server that is a mistake of the case.
const NOTHING_PICKED: &str = "the response has nothing at";

/// Whether the pointer `pick` of a step selects nothing in the response.
pub(crate) fn picked_nothing(body: &Value) -> bool {
    // With warnings or headers, the body is a field.
    [body, &body["body"]]
        .iter()
        .any(|body| !body[NOTHING_PICKED].is_null())
}

const WAITED_IN_VAIN: &str = "waited in vain; the last response was";

/// Whether a step waited until its time was over.
pub(crate) fn waited_in_vain(body: &Value) -> bool {
    !body[WAITED_IN_VAIN].is_null()
}

/// The first and the longest pause between two requests of a step that waits. A document of megabytes is not asked for without end.
const POLL_INTERVALS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

/// The result of a step: status code and body of a response, or exit code and output of kubectl.
#[derive(Debug, PartialEq)]
pub(crate) struct StepResult(pub(crate) u16, pub(crate) Value);

/// A server, with clients for the administrator, for the user alice and for an invalid token.
pub(crate) struct TestServer {
    compact: CompactHistory,
    admin: Client,
    alice: Client,
    nobody: Client,
    kubeconfig: Kubeconfig,
    webhook: WebhookServer,
    /// Contains kubectl's kubeconfig and cache.
    folder: tempfile::TempDir,
}

/// Compacts the server's history.
type CompactHistory = Box<dyn Fn() + Send + Sync>;

impl TestServer {
    async fn new(compact: CompactHistory, admin: Kubeconfig, alice: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = serde_json::to_string(&admin).unwrap();
        std::fs::write(folder.path().join("config"), text).unwrap();
        Self {
            compact,
            admin: client(admin.clone(), None).await,
            alice: client(admin.clone(), Some(alice)).await,
            nobody: client(admin.clone(), Some("nobody's")).await,
            kubeconfig: admin,
            webhook: WebhookServer::start(&[WEBHOOK_SERVICE]).await,
            folder,
        }
    }

    pub(crate) async fn embedded(api_server: &ApiServer) -> Self {
        let kubeconfig = Kubeconfig::from_yaml(&api_server.kubeconfig()).unwrap();
        let registry = api_server.registry().clone();
        Self::new(
            Box::new(move || registry.store.compact()),
            kubeconfig,
            "alice-token",
        )
        .await
    }

    pub(crate) async fn real(plane: &Arc<ControlPlane>) -> Self {
        let kubeconfig = Kubeconfig::read_from(plane.admin().kubeconfig()).unwrap();
        let alice = plane.user("alice").unwrap().token();
        // The test owns the control plane and stops it.
        let weak = Arc::downgrade(plane);
        let compact = move || {
            weak.upgrade().unwrap().compact_history().unwrap();
        };
        let server = Self::new(Box::new(compact), kubeconfig, alice).await;
        // The kubeconfig may refer to a file with the token: kubectl uses the control plane's own kubeconfig.
        std::fs::copy(plane.admin().kubeconfig(), server.folder.path().join("config")).unwrap();
        server
    }

    /// Runs all steps of a case and returns their results.
    pub(crate) async fn run_case(&self, case: &Case) -> Vec<StepResult> {
        let mut variables = BTreeMap::new();
        variables.insert("ns".to_owned(), namespace(&case.name));
        variables.insert("webhook".to_owned(), format!("127.0.0.1:{}", self.webhook.port));
        variables.insert("port".to_owned(), self.webhook.port.to_string());
        variables.insert("ca".to_owned(), self.webhook.ca_bundle.clone());
        self.webhook.take_reviews();
        if case
            .steps
            .iter()
            .any(|step| format!("{} {:?} {:?}", step.path, step.kubectl, step.body).contains("${ns}"))
        {
            let body = json!({ "metadata": { "name": namespace(&case.name) } });
            let step = Step {
                method: "POST".into(),
                path: "/api/v1/namespaces".into(),
                body: Some(body),
                ..Step::default()
            };
            let StepResult(code, body) = self.run_step(&step).await.0;
            assert_eq!(code, 201, "{}: {body}", case.name);
        }
        let (mut results, mut normalizer) = (vec![], Normalizer::default());
        let mut sent = vec![];
        for step in &case.steps {
            for (name, (text, times)) in &step.repeat {
                variables.insert(name.clone(), text.repeat(*times));
            }
            let step = substitute(step, &variables);
            if step.compact {
                (self.compact)();
            }
            self.await_watch_cache(&step).await;
            if step.after_collector {
                self.await_collector(&namespace(&case.name)).await;
            }
            for (path, response) in &step.webhooks {
                self.webhook.respond(path, response.clone());
            }
            // Until a configuration is in effect, a request is repeated, and with it its reviews.
            if !step.webhooks.is_empty() {
                self.webhook.take_reviews();
            }
            // Where the servers differ, one may show what the other does not: such a step numbers nothing for the next ones.
            let (result, raw) = if step.differs.is_some() {
                self.run_next_step(&step, &mut normalizer.clone()).await
            } else {
                self.run_next_step(&step, &mut normalizer).await
            };
            for (name, pointer) in &step.save {
                // With warnings or headers, the body is a field.
                let value = raw.pointer(pointer).or_else(|| raw["body"].pointer(pointer));
                let value = value.unwrap_or(&Value::Null);
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                variables.insert(name.clone(), text);
            }
            results.push(result);
            sent.push(step);
        }
        self.await_removed_definitions(&sent).await;
        results
    }

    /// Runs a single step. Returns the normalized result, and the body as received.
    pub(crate) async fn run_step(&self, step: &Step) -> (StepResult, Value) {
        self.run_next_step(step, &mut Normalizer::default()).await
    }

    /// As [`run_step`](Self::run_step), for a step that follows others with the same normalizer.
    pub(crate) async fn run_next_step(
        &self,
        step: &Step,
        normalizer: &mut Normalizer,
    ) -> (StepResult, Value) {
        let start = Instant::now();
        let (mut pause, longest_pause) = POLL_INTERVALS;
        let mut reminded = start;
        loop {
            // Only the last of several responses is compared, so only its uids and versions get numbers.
            let mut attempt = normalizer.clone();
            let (code, raw) = match &step.kubectl {
                _ if step.reviews => (200, self.webhook.take_reviews()),
                Some(arguments) => self.kubectl(arguments, step, &mut attempt).await,
                None => self.send(step).await,
            };
            let is_picked = !picked_nothing(&raw) && step.becomes.as_ref().is_none_or(|value| raw == *value);
            let is_expected = |until| until == code && is_picked;
            if step.until.is_none_or(is_expected) {
                *normalizer = attempt;
                let body = normalizer.body(raw.clone());
                let body = if step.summary { summarize(body) } else { body };
                return (StepResult(code, body), raw);
            }
            if start.elapsed() > UNTIL_TIMEOUT {
                return (StepResult(code, json!({ WAITED_IN_VAIN: raw })), raw);
            }
            if step.until == Some(404) {
                self.remind_finalizer(&step.path, &mut reminded).await;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest_pause);
        }
    }

    pub(crate) async fn send(&self, step: &Step) -> (u16, Value) {
        let client = match step.r#as.as_deref() {
            None => &self.admin,
            Some("alice") => &self.alice,
            Some("nobody") => &self.nobody,
            Some(token) => &client(self.kubeconfig.clone(), Some(token)).await,
        };
        let body = step
            .body
            .as_ref()
            .map(|body| {
                match step.content_type.as_deref() {
                    Some(protobuf::MEDIA_TYPE) => protobuf::encode(body),
                    _ => None,
                }
                .unwrap_or_else(|| body.to_string().into_bytes())
            })
            .or_else(|| step.text.clone().map(String::into_bytes));
        let mut request = Request::builder()
            .method(step.method.as_str())
            .uri(&step.path)
            .header("User-Agent", "differential/1")
            .header("Accept", step.accept.as_deref().unwrap_or("application/json"));
        if body.is_some() {
            let content_type = step.content_type.as_deref().unwrap_or("application/json");
            request = request.header("Content-Type", content_type);
        }
        for (name, values) in &step.headers {
            for value in values.split('\n') {
                request = request.header(name, value);
            }
        }
        let request = request.body(Body::from(body.unwrap_or_default())).unwrap();
        // The server may close the connection without a response.
        let response = match client.send(request).await {
            Ok(response) => response,
            Err(error) => return (0, json!(error.to_string())),
        };
        let code = response.status().as_u16();
        let warnings = header(&response, "Warning");
        let mut headers = serde_json::Map::new();
        for name in ["Content-Type", "Retry-After", "Allow"] {
            let values = header(&response, name);
            if !values.is_empty()
                && values != [json!("application/json")]
                && values != [json!("application/yaml")]
            {
                headers.insert(name.to_owned(), values.into());
            }
        }
        if !step.shows.is_empty() {
            let shown = step.shows.iter();
            let shown = shown.map(|name| (name.clone(), header(&response, name).into()));
            return (code, Value::Object(shown.collect()));
        }
        let content_type = header(&response, "Content-Type")
            .first()
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let events = step.events.filter(|_| code == 200);
        let is_protobuf = content_type.starts_with(protobuf::MEDIA_TYPE);
        let (bytes, timed_out) = read(response.into_body(), events, is_protobuf).await;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let value = match events {
            _ if is_protobuf => {
                let mut value = protobuf::decode(&bytes, content_type.contains("stream=watch"));
                if let (true, Value::Array(events)) = (timed_out, &mut value) {
                    events.push(json!("and no more came"));
                }
                value
            }
            Some(_) => {
                let lines = text.lines().map(json_bytes::decode);
                let mut events: Vec<Value> = lines.collect();
                if timed_out {
                    events.push(json!("and no more came"));
                }
                Value::Array(events)
            }
            None => json_bytes::decode(&text),
        };
        if step.status_only {
            return (code, Value::Null);
        }
        let value = match (value, content_type.as_str()) {
            (Value::String(text), content_type)
                if step.summary && content_type.starts_with("application/yaml") =>
            {
                json!({ "yaml": yaml::read(&text) })
            }
            // OpenAPI documents.
            (_, content_type) if step.summary && !is_protobuf && content_type.contains("protobuf") => {
                Value::Null
            }
            (value, _) => value,
        };
        let value = match &step.pick {
            // An error is compared whole.
            Some(pick) if (200..300).contains(&code) => {
                select_pointer(value, pick).unwrap_or_else(|| json!({ (NOTHING_PICKED): pick }))
            }
            _ => value,
        };
        // Warnings and unusual headers are part of the result; without them it is the plain body.
        let mut extras = serde_json::Map::new();
        if !warnings.is_empty() {
            extras.insert("warnings".into(), warnings.into());
        }
        if !headers.is_empty() {
            extras.insert("headers".into(), headers.into());
        }
        let value = if extras.is_empty() {
            value
        } else {
            extras.insert("body".into(), value);
            Value::Object(extras)
        };
        (code, value)
    }

    /// Returns the body of the response to a GET request of the administrator with this Accept header.
    pub(crate) async fn get_bytes(&self, path: &str, accept: &str) -> Vec<u8> {
        let request = Request::get(path).header("Accept", accept);
        let request = request.body(Body::empty()).unwrap();
        let response = self.admin.send(request).await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        response.into_body().collect().await.unwrap().to_bytes().to_vec()
    }

    async fn kubectl(&self, arguments: &[String], step: &Step, normalizer: &mut Normalizer) -> (u16, Value) {
        let program = binaries::Binaries::find()
            .unwrap()
            .folder()
            .join(binaries::KUBECTL);
        let mut child = tokio::process::Command::new(program)
            .arg("--kubeconfig")
            .arg(self.folder.path().join("config"))
            .args(arguments)
            .env("KUBECACHEDIR", self.folder.path().join("cache"))
            .env("KUBERC", "off")
            .env("KUBE_EDITOR", "sed -i s/before/after/")
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        // A command that does not read its input closes it, so the write may fail.
        let text = step.text.as_deref().unwrap_or_default();
        let _ = input.write_all(text.as_bytes()).await;
        drop(input);
        if let Some(lines) = step.events {
            let printed = self.read_watch_lines(&mut child, lines, &step.meanwhile).await;
            child.kill().await.unwrap();
            return (0, json!({ "stdout": normalizer.kubectl_output(&printed) }));
        }
        let output = child.wait_with_output().await.unwrap();
        let code = output.status.code().and_then(|code| u16::try_from(code).ok());
        let mut text = |bytes: &[u8]| normalizer.kubectl_output(&String::from_utf8_lossy(bytes));
        let printed = json!({ "stdout": text(&output.stdout), "stderr": text(&output.stderr) });
        (code.unwrap_or(999), printed)
    }

    /// Returns the first lines that kubectl prints while it watches. Sends the requests of `meanwhile` after the first line.
    async fn read_watch_lines(&self, child: &mut Child, lines: usize, meanwhile: &[Step]) -> String {
        let mut printed = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        for line in 0..lines {
            let Ok(Ok(Some(text))) = tokio::time::timeout(STEP_TIMEOUT, stdout.next_line()).await else {
                return printed + "and no more came\n";
            };
            printed += &text;
            printed.push('\n');
            if line == 0 {
                for step in meanwhile {
                    let (code, result) = self.send(step).await;
                    assert!(code < 300, "{}: {code} {result}", step.title());
                }
            }
        }
        printed
    }
}

async fn client(mut kubeconfig: Kubeconfig, token: Option<&str>) -> Client {
    if let Some(token) = token {
        for user in &mut kubeconfig.auth_infos {
            user.auth_info.as_mut().unwrap().token = Some(token.to_owned().into());
        }
    }
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    // It does not retry: the server's first response is compared.
    kubewright_testkit::client(config).unwrap()
}

/// Returns the value at a JSON pointer, if there is one. A list item may be given by its name.
fn select_pointer(mut value: Value, pointer: &str) -> Option<Value> {
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        value = match value {
            Value::Array(items) => items.into_iter().find(|item| {
                let names = [
                    &item["name"],
                    &item["metadata"]["name"],
                    &item["version"],
                    &item["resource"],
                    &item["type"],
                ];
                names.into_iter().any(|one| *one == name)
            }),
            mut value => value.get_mut(&name).map(Value::take),
        }?;
    }
    Some(value)
}

/// Drops all fields of a normalized body but its kind, and the reason and the message of an error.
fn summarize(body: Value) -> Value {
    const KEPT: [&str; 4] = ["apiVersion", "kind", "message", "reason"];
    /// The body of a response with warnings or unusual headers, and one in YAML.
    const WRAPPED: [&str; 2] = ["body", "yaml"];
    let Value::Object(mut fields) = body else {
        return body;
    };
    if let Some(name) = WRAPPED.into_iter().find(|name| fields.contains_key(*name)) {
        let body = fields[name].take();
        fields.insert(name.to_owned(), summarize(body));
    } else {
        fields.retain(|name, _| KEPT.contains(&name.as_str()));
    }
    Value::Object(fields)
}

/// Returns all values of a header.
fn header(response: &http::Response<Body>, name: &str) -> Vec<Value> {
    let values = response.headers().get_all(name).iter();
    values
        .map(|value| json!(String::from_utf8_lossy(value.as_bytes())))
        .collect()
}

/// Reads a body, or its first `lines` lines, which are events in protobuf. Returns true if it timed out before that.
async fn read(mut body: Body, lines: Option<usize>, is_protobuf: bool) -> (Vec<u8>, bool) {
    let mut bytes = vec![];
    loop {
        let count = || {
            if is_protobuf {
                protobuf::count_events(&bytes)
            } else {
                bytes.split(|byte| *byte == b'\n').count() - 1
            }
        };
        if lines.is_some_and(|lines| lines > 0 && count() >= lines) {
            break;
        }
        let Ok(frame) = tokio::time::timeout(STEP_TIMEOUT, body.frame()).await else {
            return (bytes, true);
        };
        match frame {
            Some(Ok(frame)) => bytes.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data)),
            _ => break,
        }
    }
    (bytes, false)
}

/// Returns the namespace of a case.
fn namespace(case: &str) -> String {
    case.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
        .to_lowercase()
}

/// Returns the step with its variables substituted.
pub(crate) fn substitute(step: &Step, variables: &BTreeMap<String, String>) -> Step {
    let fill = |text: &str| {
        let mut text = text.to_owned();
        for (name, value) in variables {
            text = text.replace(&format!("${{{name}}}"), value);
        }
        text
    };
    let mut step = step.clone();
    step.meanwhile = step
        .meanwhile
        .iter()
        .map(|step| substitute(step, variables))
        .collect();
    step.path = fill(&step.path);
    step.r#as = step.r#as.as_deref().map(fill);
    step.headers.values_mut().for_each(|value| *value = fill(value));
    step.text = step.text.as_deref().map(fill);
    step.body = step
        .body
        .map(|body| body.to_string().replace(r#""${port}""#, "${port}"))
        .map(|body| serde_json::from_str(&fill(&body)).unwrap());
    for response in step.webhooks.values_mut() {
        *response = serde_json::from_str(&fill(&response.to_string())).unwrap();
    }
    step.kubectl = step
        .kubectl
        .map(|arguments| arguments.iter().map(|argument| fill(argument)).collect());
    step
}

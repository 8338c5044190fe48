//! kubewright: a whole manager, with a function in place of the API server. Its controller is paused until a resync has enqueued every
//! object. The measurement starts with the resync.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant},
};

use ::kubewright::{
    Manager, NamespacedName,
    controller::{Action, Pause, ReconcileError, Reconciler, Setup},
};
use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use kubewright_benches::widget::WidgetInformers as _;

use super::{WORKERS, count_reconcile, list_type_fields, wait_for_reconciles, wait_until, widget};
use crate::stopwatch::{Stopwatch, cpu_nanos};

/// Resync period: long enough to list all objects, reconcile each once, and become idle.
const RESYNC_PERIOD: Duration = Duration::from_secs(15);

struct NoOpReconciler;

impl Reconciler for NoOpReconciler {
    async fn reconcile(&self, _: &NamespacedName) -> Result<Action, ReconcileError> {
        count_reconcile();
        Ok(Action::await_change())
    }
}

pub(super) fn run(keys: usize, is_logged: bool) -> Result<Vec<f64>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let _within = runtime.enter();
    let delivered = Arc::new(AtomicUsize::new(0));
    let (sender, pause) = std::sync::mpsc::channel();
    let manager = if is_logged {
        Manager::from_args("widgets")
    } else {
        Manager::new("widgets")
    };
    let count = delivered.clone();
    let manager = manager
        .with_args(["--metrics-bind-address=0", "--health-bind-address=0"])
        .with_client(kube::Client::new(
            tower::service_fn(api_server(keys)),
            "namespace-0",
        ))
        .register(move |setup| {
            // The receiver lives as long as the manager runs.
            let _ = sender.send(register(setup, count));
        });
    let start = Instant::now();
    runtime.spawn(manager.run());
    let pause: Pause = pause.recv().context("the manager does not start")?;
    wait_for_reconciles(keys)?;
    pause.pause();
    let resynced = delivered.load(Ordering::Relaxed) + keys;
    wait_until_idle()?;
    let remaining = RESYNC_PERIOD.checked_sub(start.elapsed());
    let remaining = remaining.context("too slow: the resync came before the manager was idle")?;
    // Polling every millisecond until the resync would cost more than the measured work.
    sleep(remaining.saturating_sub(Duration::from_millis(100)));
    let stopwatch = Stopwatch::start()?;
    wait_until(|| Ok(delivered.load(Ordering::Relaxed) >= resynced))?;
    pause.resume();
    wait_for_reconciles(2 * keys)?;
    stopwatch.per_key(keys)
}

fn register(setup: &mut Setup, delivered: Arc<AtomicUsize>) -> Pause {
    let widgets = setup.informers().widgets();
    let controller = setup.controller("widgets", NoOpReconciler);
    controller
        .reconciles(&widgets)
        .workers(usize::from(WORKERS))
        .resync(RESYNC_PERIOD);
    let pause = controller.pause_handle();
    let options = ::kubewright::cache::HandlerOptions::default().resync(RESYNC_PERIOD);
    widgets.add_sink_with(
        move |_: &::kubewright::cache::Change<'_>| {
            delivered.fetch_add(1, Ordering::Relaxed);
        },
        options,
    );
    pause
}

/// Waits until the process is idle: objects are compressed after their events are delivered.
fn wait_until_idle() -> Result<()> {
    let mut before = cpu_nanos()?;
    loop {
        sleep(Duration::from_millis(500));
        let now = cpu_nanos()?;
        if now - before < 3_000_000 {
            return Ok(());
        }
        before = now;
    }
}

type Body = StreamBody<stream::BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

/// Returns an API server that lists `keys` objects in one list and never sends a watch event.
fn api_server(
    keys: usize,
) -> impl FnMut(Request<kube::client::Body>) -> futures::future::Ready<Result<Response<Body>, Infallible>>
+ Clone
+ Send
+ 'static {
    let mut list = format!(
        r#"{{{},"metadata":{{"resourceVersion":"{}"}},"items":["#,
        list_type_fields(),
        keys + 1
    );
    for number in 0..keys {
        let object = serde_json::to_string(&widget(number)).unwrap_or_default();
        list.extend([if number == 0 { "" } else { "," }, &object]);
    }
    list.push_str("]}");
    let list = Bytes::from(list);
    move |request| {
        let query = request.uri().query().unwrap_or_default();
        let has = |what: &str| query.contains(what);
        let full_body = |text: Bytes| stream::iter([Ok(Frame::data(text))]).boxed();
        let rejection = Bytes::from_static(
            br#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}"#,
        );
        let (code, body) = match request.uri().path() {
            "/version" => (200, full_body(Bytes::from_static(b"{}"))),
            _ if has("sendInitialEvents=true") => (422, full_body(rejection)),
            _ if has("watch=") => (200, stream::pending().boxed()),
            _ => (200, full_body(list.clone())),
        };
        let mut response = Response::new(StreamBody::new(body));
        *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
        futures::future::ready(Ok(response))
    }
}

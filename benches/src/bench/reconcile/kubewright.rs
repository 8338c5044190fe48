//! Ours: a whole manager, before an API server that is a function. Its controller is paused while a resync tells it of every object, and
//! then has them all in its queue. What is measured begins with the resync.

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

use super::{WORKERS, kind, reconciling, until, wait_for, widget};
use crate::stopwatch::{Stopwatch, cpu};

/// Enough to list all, reconcile each once and become quiet.
const RESYNC: Duration = Duration::from_secs(15);

struct Nothing;

impl Reconciler for Nothing {
    async fn reconcile(&self, _: &NamespacedName) -> Result<Action, ReconcileError> {
        reconciling();
        Ok(Action::await_change())
    }
}

pub(super) fn run(keys: usize, is_logged: bool) -> Result<Vec<f64>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let _within = runtime.enter();
    let told = Arc::new(AtomicUsize::new(0));
    let (sender, pause) = std::sync::mpsc::channel();
    let manager = if is_logged {
        Manager::from_args("widgets")
    } else {
        Manager::new("widgets")
    };
    let count = told.clone();
    let manager = manager
        .with_args(["--metrics-bind-address=0", "--health-bind-address=0"])
        .with_client(kube::Client::new(tower::service_fn(answers(keys)), "namespace-0"))
        .register(move |setup| {
            // Whoever receives is there as long as this runs.
            let _ = sender.send(register(setup, count));
        });
    let start = Instant::now();
    runtime.spawn(manager.run());
    let pause: Pause = pause.recv().context("the manager does not start")?;
    wait_for(keys)?;
    pause.pause();
    let resynced = told.load(Ordering::Relaxed) + keys;
    settle()?;
    let left = RESYNC.checked_sub(start.elapsed());
    let left = left.context("too slow: the resync came before all was quiet")?;
    // Who looks every millisecond whether it has come takes more than what is measured.
    sleep(left.saturating_sub(Duration::from_millis(100)));
    let watch = Stopwatch::start()?;
    until(|| Ok(told.load(Ordering::Relaxed) >= resynced))?;
    pause.resume();
    wait_for(2 * keys)?;
    watch.each(keys)
}

fn register(setup: &mut Setup, told: Arc<AtomicUsize>) -> Pause {
    let widgets = setup.informers().widgets();
    let controller = setup.controller("widgets", Nothing);
    controller
        .reconciles(&widgets)
        .workers(usize::from(WORKERS))
        .resync(RESYNC);
    let pause = controller.pause_handle();
    let options = ::kubewright::cache::HandlerOptions::default().resync(RESYNC);
    widgets.add_sink_with(
        move |_: &::kubewright::cache::Change<'_>| {
            told.fetch_add(1, Ordering::Relaxed);
        },
        options,
    );
    pause
}

/// Waits until nothing happens any more: objects are compressed after they were told of.
fn settle() -> Result<()> {
    let mut before = cpu()?;
    loop {
        sleep(Duration::from_millis(500));
        let now = cpu()?;
        if now - before < 3_000_000 {
            return Ok(());
        }
        before = now;
    }
}

type Body = StreamBody<stream::BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

/// An API server that has so many objects, in one list, and of which nothing more is heard.
fn answers(
    keys: usize,
) -> impl FnMut(Request<kube::client::Body>) -> futures::future::Ready<Result<Response<Body>, Infallible>>
+ Clone
+ Send
+ 'static {
    let mut list = format!(
        r#"{{{},"metadata":{{"resourceVersion":"{}"}},"items":["#,
        kind(),
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
        let whole = |text: Bytes| stream::iter([Ok(Frame::data(text))]).boxed();
        let refusal = Bytes::from_static(
            br#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}"#,
        );
        let (code, body) = match request.uri().path() {
            "/version" => (200, whole(Bytes::from_static(b"{}"))),
            _ if has("sendInitialEvents=true") => (422, whole(refusal)),
            _ if has("watch=") => (200, stream::pending().boxed()),
            _ => (200, whole(list.clone())),
        };
        let mut response = Response::new(StreamBody::new(body));
        *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
        futures::future::ready(Ok(response))
    }
}

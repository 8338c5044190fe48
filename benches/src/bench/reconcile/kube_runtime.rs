//! kube-runtime's `Controller` with a filled store. Its trigger is a stream of all objects, which are available at once.

use std::{convert::Infallible, sync::Arc};

use anyhow::Result;
use futures::{StreamExt as _, stream};
use kube::runtime::{
    Controller,
    controller::{Action, Config},
    reflector, watcher,
};
use kubewright_benches::widget::Widget;

use super::{WORKERS, count_reconcile, wait_for_reconciles, widget};
use crate::stopwatch::Stopwatch;

pub(super) fn run(keys: usize, is_logged: bool) -> Result<Vec<f64>> {
    if is_logged {
        tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::INFO)
            .with_writer(std::io::stderr)
            .init();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (reader, mut writer) = reflector::store();
    let widgets: Vec<Widget> = (0..keys).map(widget).collect();
    writer.apply_watcher_event(&watcher::Event::Init);
    for widget in &widgets {
        writer.apply_watcher_event(&watcher::Event::InitApply(widget.clone()));
    }
    writer.apply_watcher_event(&watcher::Event::InitDone);

    let stopwatch = Stopwatch::start()?;
    let triggers = stream::iter(widgets.into_iter().map(Ok)).chain(stream::pending());
    let controller = Controller::for_stream(triggers, reader)
        .with_config(Config::default().concurrency(WORKERS))
        .run(reconcile, |_, _, _| Action::await_change(), Arc::new(()))
        .for_each(|_| std::future::ready(()));
    runtime.spawn(controller);
    wait_for_reconciles(keys)?;
    let figures = stopwatch.per_key(keys);
    drop(writer);
    figures
}

async fn reconcile(_: Arc<Widget>, _: Arc<()>) -> Result<Action, Infallible> {
    count_reconcile();
    Ok(Action::await_change())
}

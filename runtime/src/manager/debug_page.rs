//! Serves `/debug/kubewright`: a text page with the state of caches and queues.

use std::{fmt::Write as _, sync::Arc};

use http::{StatusCode, Uri};
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::Instant;

use super::{
    server::{HttpHandler, TextResponse},
    servers::NotReadyReason,
};
use crate::{
    cache::{InformerOptions, SharedInformerFactory, StorageMode},
    workqueue::WorkQueue,
};

const PATH: &str = "/debug/kubewright";

/// The sources of the page's figures.
pub(super) struct DebugPage {
    pub(super) operator: String,
    pub(super) started: Instant,
    pub(super) not_ready: NotReadyReason,
    /// None without leader election.
    pub(super) leading: Option<Gauge>,
    pub(super) informers: SharedInformerFactory,
    /// Name, workers and queue of each controller.
    pub(super) controllers: Vec<(String, usize, Arc<WorkQueue>)>,
}

impl DebugPage {
    /// Returns a handler that serves the page, and passes other paths to `next`.
    pub(super) fn before(self, next: HttpHandler) -> HttpHandler {
        Arc::new(move |uri: &Uri| match uri.path().trim_end_matches('/') {
            PATH => TextResponse::text(StatusCode::OK, self.text()),
            _ => next(uri),
        })
    }

    fn text(&self) -> String {
        let readiness = self.not_ready.lock().unwrap_or("ready");
        let leads = match self.leading.as_ref().map(Gauge::get) {
            None => "without leader election",
            Some(0) => "not leading",
            Some(_) => "leading",
        };
        let mut text = format!(
            "{} {readiness}, {leads}, running for {} s\n\n",
            self.operator,
            self.started.elapsed().as_secs()
        );
        let informers = self.informers.stats().into_iter().map(|(info, options, stats)| {
            vec![
                info.group_resource() + &restriction(&options),
                stats.objects.to_string(),
                stats.bytes.to_string(),
                stats.kept_bytes.to_string(),
                stats.queued.to_string(),
                stats.pending.to_string(),
                stats.lists.to_string(),
                stats.watches.to_string(),
                stats.failures.to_string(),
            ]
        });
        table(
            &mut text,
            [
                "informer",
                "objects",
                "bytes",
                "stored bytes",
                "queued",
                "pending",
                "lists",
                "watches",
                "failures",
            ],
            informers,
        );
        text.push('\n');
        let controllers = self.controllers.iter().map(|(name, workers, queue)| {
            let keys = queue.stats();
            vec![
                name.clone(),
                workers.to_string(),
                keys.processing.to_string(),
                keys.depth.to_string(),
                keys.delayed.to_string(),
                format!("{:.1} s", keys.longest_running.as_secs_f64()),
            ]
        });
        table(
            &mut text,
            [
                "controller",
                "workers",
                "active",
                "queued",
                "delayed",
                "longest reconcile",
            ],
            controllers,
        );
        text
    }
}

/// Describes how an informer differs from the default one of its kind: namespaces, selectors, storage mode.
fn restriction(options: &InformerOptions) -> String {
    let namespaces = options
        .namespaces
        .as_ref()
        .map(|names| format!("namespaces {}", names.join(",")));
    let keep = (options.storage != StorageMode::Compressed).then(|| options.storage.name().to_owned());
    let parts = [
        &namespaces,
        &options.label_selector,
        &options.field_selector,
        &keep,
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!(" ({})", parts.join("; "))
    }
}

/// Appends a table: the first column is left-aligned, the others right-aligned.
fn table<const N: usize>(text: &mut String, head: [&str; N], rows: impl Iterator<Item = Vec<String>>) {
    let rows: Vec<Vec<String>> = std::iter::once(head.map(str::to_owned).to_vec())
        .chain(rows)
        .collect();
    let widths: Vec<usize> = (0..N)
        .map(|column| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for row in rows {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Writing to a `String` cannot fail.
            let _ = match column {
                0 => write!(text, "{cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use parking_lot::Mutex;
    use serde_json::json;

    use super::*;
    use crate::{NamespacedName, client::Connection, workqueue};

    #[tokio::test(start_paused = true)]
    async fn shows_caches_and_queues() {
        let informers = SharedInformerFactory::new(Connection::late());
        let deployment =
            json!({"metadata": {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": "1"}});
        informers.of::<Deployment>().seed(&deployment).unwrap();
        let queue = Arc::new(WorkQueue::new(Box::new(workqueue::default_limiter())));
        for name in ["x", "y"] {
            queue.add(NamespacedName::namespaced("b", name));
        }
        queue.get().await.unwrap();
        let page = DebugPage {
            operator: "shop".to_owned(),
            started: Instant::now(),
            not_ready: Arc::new(Mutex::new(None)),
            leading: None,
            informers,
            controllers: vec![("web".to_owned(), 3, queue)],
        };
        let handler = page.before(Arc::new(|_: &Uri| TextResponse::not_found()));
        assert_eq!(handler(&Uri::from_static("/other")), TextResponse::not_found());
        let text = handler(&Uri::from_static("/debug/kubewright")).body;
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            lines[0].join(" "),
            "shop ready, without leader election, running for 0 s"
        );
        assert_eq!(lines[3][..2], ["deployments.apps", "1"], "{text}");
        assert_eq!(lines[6], ["web", "3", "1", "1", "0", "0.0", "s"], "{text}");
    }
}

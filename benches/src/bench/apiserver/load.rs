//! ConfigMaps of 1.5 KB, written over several connections.

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use futures::future;
use memchr::memmem;
use serde_json::json;

use super::{connection::Connection, server::Server, template::Template};

/// How many connections write at once, each as soon as it has its answer.
const CONNECTIONS: usize = 16;
/// How many objects a page has.
const PAGE: usize = 500;
const FIELDS: usize = 12;
const FIELD: usize = 100;

/// What one of many cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// CPU time of the server.
    pub(crate) micros: f64,
    /// On the clock.
    pub(crate) each_second: f64,
}

impl Cost {
    /// Of what was not measured.
    pub(crate) const NONE: Self = Self {
        micros: f64::NAN,
        each_second: f64::NAN,
    };
}

/// Measures what the server does meanwhile; `act` says how much that was.
pub(crate) async fn cost(server: &Server, act: impl AsyncFnOnce() -> Result<usize>) -> Result<Cost> {
    let (cpu, start) = (server.cpu_micros()?, Instant::now());
    let many = number(act().await?);
    let seconds = start.elapsed().as_secs_f64();
    Ok(Cost {
        micros: (server.cpu_micros()? - cpu) / many,
        each_second: many / seconds,
    })
}

#[expect(clippy::cast_precision_loss, reason = "some millions")]
pub(crate) fn number(many: usize) -> f64 {
    many as f64
}

/// Where the objects are.
pub(crate) fn path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

/// Those who write into a namespace.
pub(crate) struct Writers {
    connections: Vec<Connection>,
    create: Template,
    update: Template,
}

impl Writers {
    /// Makes the namespace.
    pub(crate) async fn new(server: &Server, namespace: &str) -> Result<Self> {
        let body =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } }).to_string();
        let request = server.request("POST", "/api/v1/namespaces", &body);
        let mut first = server.connect().await?;
        first.exchange(&request).await?;
        let mut connections = vec![first];
        while connections.len() < CONNECTIONS {
            connections.push(server.connect().await?);
        }
        let (path, object) = (path(namespace), object());
        let one = format!("{path}/{NAME}");
        Ok(Self {
            connections,
            create: Template::new(server.request("POST", &path, &object)),
            update: Template::new(server.request("PUT", &one, &object)),
        })
    }

    /// Creates the objects with these numbers. Says how many there are when the time was over.
    pub(crate) async fn create(&mut self, numbers: Range<usize>, time: Duration) -> Result<usize> {
        each(&mut self.connections, &self.create, numbers, time, |number| {
            (number, 0)
        })
        .await
    }

    /// Replaces the objects of which there are so many, again and again, whatever their versions.
    pub(crate) async fn update(&mut self, objects: usize, numbers: Range<usize>) -> Result<usize> {
        /// No object is ever what it was before, which would change nothing and be no event.
        static GENERATION: AtomicUsize = AtomicUsize::new(1);
        let next = |number| (number % objects, GENERATION.fetch_add(1, Ordering::Relaxed));
        each(&mut self.connections, &self.update, numbers, Duration::MAX, next).await
    }
}

/// Each connection takes every n-th number.
async fn each(
    connections: &mut [Connection],
    template: &Template,
    numbers: Range<usize>,
    time: Duration,
    what: impl Fn(usize) -> (usize, usize),
) -> Result<usize> {
    let (start, step, what) = (Instant::now(), connections.len(), &what);
    let writers = connections.iter_mut().enumerate().map(|(first, connection)| {
        let numbers = numbers.clone().skip(first).step_by(step);
        let mut template = template.clone();
        async move {
            let mut done = 0;
            for number in numbers {
                if start.elapsed() > time {
                    break;
                }
                let (number, generation) = what(number);
                connection.exchange(template.fill(number, generation)).await?;
                done += 1;
            }
            anyhow::Ok(done)
        }
    });
    Ok(future::try_join_all(writers).await?.into_iter().sum())
}

/// Lists the objects page by page and says how many there were.
pub(crate) async fn list(server: &Server, namespace: &str) -> Result<usize> {
    const MARK: &[u8] = br#""continue":""#;
    let mut connection = server.connect().await?;
    let (mut next, mut listed) = (String::new(), 0);
    let item = memmem::Finder::new(br#""name":"item-"#);
    loop {
        let uri = format!("{}?limit={PAGE}{next}", path(namespace));
        let page = connection.exchange(&server.request("GET", &uri, "")).await?;
        listed += item.find_iter(page).count();
        // The list's metadata comes first.
        let head = &page[..page.len().min(1000)];
        let Some(at) = memmem::find(head, MARK) else {
            return Ok(listed);
        };
        let token = head[at + MARK.len()..].split(|byte| *byte == b'"').next();
        // Tokens are of letters that need no quoting.
        next = format!("&continue={}", std::str::from_utf8(token.unwrap_or_default())?);
    }
}

/// What the version of the list is, from which a watch goes on.
pub(crate) async fn version(server: &Server, namespace: &str) -> Result<String> {
    let uri = format!("{}?limit=1", path(namespace));
    let mut connection = server.connect().await?;
    let page = connection.exchange(&server.request("GET", &uri, "")).await?;
    let list: serde_json::Value = serde_json::from_slice(page)?;
    let version = list["metadata"]["resourceVersion"].as_str();
    Ok(version.context("a list without a version")?.to_owned())
}

const NAME: &str = "item-######";

fn object() -> String {
    let fields = (0..FIELDS).map(|field| {
        let text = format!("{field}-######-@@@@@@@@ ").repeat(FIELD);
        (format!("field-{field}"), json!(text[..FIELD]))
    });
    let fields: serde_json::Map<_, _> = fields.collect();
    let metadata = json!({ "name": NAME, "labels": { "app": "bench", "part": "##" } });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": fields }).to_string()
}

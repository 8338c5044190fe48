//! Writes and lists ConfigMaps of 1.5 KB, over several connections.

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use futures::future;
use memchr::memmem;
use serde_json::json;

use super::{connection::Connection, server::MeasuredServer, template::RequestTemplate};

/// Number of connections that write concurrently. Each sends its next request when it has received the response.
const WRITER_CONNECTIONS: usize = 16;
/// Number of objects in a page of a list.
const PAGE_SIZE: usize = 500;
const FIELD_COUNT: usize = 12;
const FIELD_BYTES: usize = 100;

/// The cost of one operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperationCost {
    /// CPU time of the server, in microseconds.
    pub(crate) micros: f64,
    /// Operations per second of wall-clock time.
    pub(crate) each_second: f64,
}

impl OperationCost {
    /// Placeholder for an operation that was not measured.
    pub(crate) const NONE: Self = Self {
        micros: f64::NAN,
        each_second: f64::NAN,
    };
}

/// Measures the server while `act` runs. `act` returns the number of operations.
pub(crate) async fn measure_cost(
    server: &MeasuredServer,
    act: impl AsyncFnOnce() -> Result<usize>,
) -> Result<OperationCost> {
    let (cpu, start) = (server.cpu_micros()?, Instant::now());
    let count = to_f64(act().await?);
    let seconds = start.elapsed().as_secs_f64();
    Ok(OperationCost {
        micros: (server.cpu_micros()? - cpu) / count,
        each_second: count / seconds,
    })
}

#[expect(clippy::cast_precision_loss, reason = "some millions")]
pub(crate) fn to_f64(count: usize) -> f64 {
    count as f64
}

/// Returns the path of the ConfigMaps of a namespace.
pub(crate) fn collection_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

/// Connections that write into a namespace.
pub(crate) struct Writers {
    connections: Vec<Connection>,
    create: RequestTemplate,
    update: RequestTemplate,
}

impl Writers {
    /// Creates the namespace and opens the connections.
    pub(crate) async fn new(server: &MeasuredServer, namespace: &str) -> Result<Self> {
        let body =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } }).to_string();
        let request = server.request("POST", "/api/v1/namespaces", &body);
        let mut first = server.connect().await?;
        first.send_request(&request).await?;
        let mut connections = vec![first];
        while connections.len() < WRITER_CONNECTIONS {
            connections.push(server.connect().await?);
        }
        let (path, object) = (collection_path(namespace), object_template());
        let one = format!("{path}/{NAME_TEMPLATE}");
        Ok(Self {
            connections,
            create: RequestTemplate::new(server.request("POST", &path, &object)),
            update: RequestTemplate::new(server.request("PUT", &one, &object)),
        })
    }

    /// Creates the objects with these numbers until `time` is over. Returns the number of created objects.
    pub(crate) async fn create(&mut self, numbers: Range<usize>, time: Duration) -> Result<usize> {
        write_all(&mut self.connections, &self.create, numbers, time, |number| {
            (number, 0)
        })
        .await
    }

    /// Sends a request of another kind with each of these numbers. Returns how many.
    pub(super) async fn send(&mut self, template: &RequestTemplate, numbers: Range<usize>) -> Result<usize> {
        write_all(
            &mut self.connections,
            template,
            numbers,
            Duration::MAX,
            |number| (number, 0),
        )
        .await
    }

    /// Replaces the first `objects` objects in turn, without a resource version. Returns the number of updates.
    pub(crate) async fn update(&mut self, objects: usize, numbers: Range<usize>) -> Result<usize> {
        /// Makes each update different: an update without a change would cause no event.
        static GENERATION: AtomicUsize = AtomicUsize::new(1);
        let next = |number| (number % objects, GENERATION.fetch_add(1, Ordering::Relaxed));
        write_all(&mut self.connections, &self.update, numbers, Duration::MAX, next).await
    }
}

/// Distributes the numbers among the connections and sends their requests.
async fn write_all(
    connections: &mut [Connection],
    template: &RequestTemplate,
    numbers: Range<usize>,
    time: Duration,
    numbers_of: impl Fn(usize) -> (usize, usize),
) -> Result<usize> {
    let (start, step, numbers_of) = (Instant::now(), connections.len(), &numbers_of);
    let writers = connections.iter_mut().enumerate().map(|(first, connection)| {
        let numbers = numbers.clone().skip(first).step_by(step);
        let mut template = template.clone();
        async move {
            let mut done = 0;
            for number in numbers {
                if start.elapsed() > time {
                    break;
                }
                let (number, generation) = numbers_of(number);
                connection.send_request(template.fill(number, generation)).await?;
                done += 1;
            }
            anyhow::Ok(done)
        }
    });
    Ok(future::try_join_all(writers).await?.into_iter().sum())
}

/// Lists the objects in pages and returns their number.
pub(crate) async fn list(server: &MeasuredServer, namespace: &str) -> Result<usize> {
    const CONTINUE_KEY: &[u8] = br#""continue":""#;
    let mut connection = server.connect().await?;
    let (mut next, mut listed) = (String::new(), 0);
    let item = memmem::Finder::new(br#""name":"item-"#);
    loop {
        let uri = format!("{}?limit={PAGE_SIZE}{next}", collection_path(namespace));
        let page = connection.send_request(&server.request("GET", &uri, "")).await?;
        listed += item.find_iter(page).count();
        // The list's metadata comes first.
        let head = &page[..page.len().min(1000)];
        let Some(at) = memmem::find(head, CONTINUE_KEY) else {
            return Ok(listed);
        };
        let token = head[at + CONTINUE_KEY.len()..].split(|byte| *byte == b'"').next();
        // Continue tokens consist of characters that need no escaping.
        next = format!("&continue={}", std::str::from_utf8(token.unwrap_or_default())?);
    }
}

/// Returns the resource version of a list, at which a watch can start.
pub(crate) async fn list_version(server: &MeasuredServer, namespace: &str) -> Result<String> {
    let uri = format!("{}?limit=1", collection_path(namespace));
    let mut connection = server.connect().await?;
    let page = connection.send_request(&server.request("GET", &uri, "")).await?;
    let list: serde_json::Value = serde_json::from_slice(page)?;
    let version = list["metadata"]["resourceVersion"].as_str();
    Ok(version.context("the list has no resource version")?.to_owned())
}

const NAME_TEMPLATE: &str = "item-######";

fn object_template() -> String {
    let fields = (0..FIELD_COUNT).map(|field| {
        let text = format!("{field}-######-@@@@@@@@ ").repeat(FIELD_BYTES);
        (format!("field-{field}"), json!(text[..FIELD_BYTES]))
    });
    let fields: serde_json::Map<_, _> = fields.collect();
    let metadata = json!({ "name": NAME_TEMPLATE, "labels": { "app": "bench", "part": "##" } });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": fields }).to_string()
}

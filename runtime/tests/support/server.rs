//! A scripted API server of one kind, in memory. It can drop, delay and reorder events, close watches, compact its history and return
//! scripted answers.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use kubewright::{
    cache::{
        SharedInformerFactory,
        list_watch::{ByteStream, ListOptions, ListWatchError, ListerWatcher, WatchOptions},
    },
    kube::core::Status,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Bodies are sent in chunks so small that every object is split.
const CHUNK_BYTES: usize = 40;

#[derive(Default)]
pub(crate) struct Server(Mutex<ServerState>);

type Chunk = Result<Bytes, ListWatchError>;

/// A watch event.
#[derive(Clone)]
struct WatchLine {
    version: u64,
    namespace: String,
    line: String,
}

#[derive(Default)]
struct ServerState {
    objects: BTreeMap<(String, String), Value>,
    version: u64,
    uids: u64,
    /// The delivered watch events.
    history: Vec<WatchLine>,
    /// The watch events that are held back.
    held_back: Option<Vec<WatchLine>>,
    /// Watches from older versions get 410.
    oldest: u64,
    /// The namespace and the body of each watch.
    watchers: Vec<(Option<String>, mpsc::UnboundedSender<Chunk>)>,
    requests: Vec<Request>,
    list_answers: VecDeque<Answer>,
    watch_answers: VecDeque<Answer>,
    stream_answers: VecDeque<Answer>,
    streaming: Streaming,
}

/// How the server handles requests for streaming lists.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streaming {
    #[default]
    Known,
    /// It refuses them, as API servers that support `resourceVersionMatch` do.
    Refused,
    /// It starts a plain watch, as older API servers and some that are not a kube-apiserver do.
    Ignored,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    List(ListOptions),
    /// A streaming list at a resource version.
    Stream(String),
    Watch(WatchOptions),
}

/// A scripted answer to the next list or watch.
#[derive(Clone)]
pub(crate) enum Answer {
    /// The real answer.
    Real,
    Fail(ListWatchError),
    /// A body, then the end of the stream.
    Body(Vec<u8>),
    /// A body, then a connection error.
    BrokenConnection(Vec<u8>),
    /// A body that stays open without more data.
    Open(String),
    /// A response without any data.
    Silence,
    /// No response.
    Never,
}

impl Answer {
    pub(crate) fn body(body: impl Into<Vec<u8>>) -> Self {
        Self::Body(body.into())
    }

    pub(crate) fn broken_connection(body: impl Into<Vec<u8>>) -> Self {
        Self::BrokenConnection(body.into())
    }
}

pub(crate) fn status(code: u16, reason: &str) -> ListWatchError {
    ListWatchError::Status(Box::new(Status::failure("scripted", reason).with_code(code)))
}

/// Parses a resource version.
fn number(version: &str) -> Result<u64, ListWatchError> {
    if version.is_empty() {
        return Ok(0);
    }
    version.parse().map_err(|_| status(400, "BadRequest"))
}

pub(crate) fn too_large() -> ListWatchError {
    let mut status = Status::failure("Too large resource version: 9, current: 3", "Timeout").with_code(504);
    let details =
        json!({"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]});
    status.details = Some(serde_json::from_value(details).unwrap());
    ListWatchError::Status(Box::new(status))
}

/// The error of a refused connection.
pub(crate) fn refused() -> ListWatchError {
    ListWatchError::Unreachable {
        message: "connection refused".into(),
        refused: true,
    }
}

impl Server {
    /// Returns a server that supports streaming lists.
    pub(crate) fn new() -> Arc<Self> {
        super::log::install();
        Arc::default()
    }

    /// Returns a server that refuses streaming lists.
    pub(crate) fn without_streaming() -> Arc<Self> {
        let server = Self::new();
        server.streaming(Streaming::Refused);
        server
    }

    pub(crate) fn streaming(&self, streaming: Streaming) {
        self.0.lock().streaming = streaming;
    }

    pub(crate) fn factory(self: &Arc<Self>) -> SharedInformerFactory {
        let server = self.clone();
        SharedInformerFactory::from_sources(move |_, namespace, _| server.source(namespace))
    }

    pub(crate) fn source(self: &Arc<Self>, namespace: Option<&str>) -> Arc<dyn ListerWatcher> {
        Arc::new(ScriptedListWatch {
            server: self.clone(),
            namespace: namespace.map(Into::into),
        })
    }

    /// Creates or updates an object, and delivers the event to the watches.
    pub(crate) fn put(&self, object: &Value) {
        let mut state = self.0.lock();
        let event = state.put(object);
        state.deliver(event);
    }

    /// Creates or updates an object without a watch event.
    pub(crate) fn put_unseen(&self, object: &Value) {
        self.0.lock().put(object);
    }

    /// Returns an object.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Value> {
        let state = self.0.lock();
        state.objects.get(&(namespace.into(), name.into())).cloned()
    }

    pub(crate) fn delete(&self, namespace: &str, name: &str) {
        let mut state = self.0.lock();
        if let Some(event) = state.delete(namespace, name) {
            state.deliver(event);
        }
    }

    pub(crate) fn delete_unseen(&self, namespace: &str, name: &str) {
        self.0.lock().delete(namespace, name);
    }

    /// Holds back watch events until they are released; lists show the changes at once.
    pub(crate) fn hold(&self) {
        self.0.lock().held_back.get_or_insert_default();
    }

    /// Delivers the held back events in order.
    pub(crate) fn release(&self) {
        self.0.lock().release(|_| {});
    }

    /// Delivers the held back events in reverse order.
    pub(crate) fn release_in_reverse(&self) {
        self.0.lock().release(|events| events.reverse());
    }

    /// Closes all watches without delivering the held back events: watches that resume from an earlier version get them.
    pub(crate) fn cut_held(&self) {
        let mut state = self.0.lock();
        let held_back = state.held_back.take().unwrap_or_default();
        state.history.extend(held_back);
        state.watchers.clear();
    }

    /// Sends a raw line to all watches.
    pub(crate) fn send(&self, line: &(impl AsRef<[u8]> + ?Sized)) {
        self.0.lock().broadcast(None, line.as_ref());
    }

    pub(crate) fn bookmark(&self) {
        let mut state = self.0.lock();
        state.version += 1;
        let version = state.version.to_string();
        let line = json!({"type": "BOOKMARK", "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"resourceVersion": version}}});
        state.broadcast(None, line.to_string().as_bytes());
    }

    /// Sets the resource version after which later writes follow, as on a server that was restored from a backup.
    pub(crate) fn set_version(&self, version: u64) {
        self.0.lock().version = version;
    }

    /// Returns the number of watches whose clients are connected.
    pub(crate) fn open_watches(&self) -> usize {
        let mut state = self.0.lock();
        state.watchers.retain(|(_, watcher)| !watcher.is_closed());
        state.watchers.len()
    }

    /// Closes all watches.
    pub(crate) fn cut(&self) {
        self.0.lock().watchers.clear();
    }

    /// Compacts the history and ends all watches with a 410 event.
    pub(crate) fn reset(&self) {
        self.compact();
        let status = json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"});
        self.send(&json!({"type": "ERROR", "object": status}).to_string());
        self.cut();
    }

    /// Compacts the history: watches from older versions get 410.
    pub(crate) fn compact(&self) {
        let mut state = self.0.lock();
        state.history.clear();
        state.version += 1;
        state.oldest = state.version;
    }

    /// Scripts the answers to the next lists.
    pub(crate) fn answer_lists(&self, answers: impl IntoIterator<Item = Answer>) {
        self.0.lock().list_answers.extend(answers);
    }

    /// Scripts the answers to the next streaming lists.
    pub(crate) fn answer_streams(&self, answers: impl IntoIterator<Item = Answer>) {
        self.0.lock().stream_answers.extend(answers);
    }

    /// Scripts the answers to the next watches that are not streaming lists.
    pub(crate) fn answer_watches(&self, answers: impl IntoIterator<Item = Answer>) {
        self.0.lock().watch_answers.extend(answers);
    }

    /// Returns the requests since the last call.
    pub(crate) fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.0.lock().requests)
    }

    pub(crate) fn lists(&self) -> Vec<ListOptions> {
        let lists = |request| match request {
            Request::List(options) => Some(options),
            Request::Stream(_) | Request::Watch(_) => None,
        };
        self.requests().into_iter().filter_map(lists).collect()
    }

    /// Returns the versions of the streaming lists since the last call for requests.
    pub(crate) fn streams(&self) -> Vec<String> {
        let versions = |request| match request {
            Request::Stream(version) => Some(version),
            Request::List(_) | Request::Watch(_) => None,
        };
        self.requests().into_iter().filter_map(versions).collect()
    }

    pub(crate) fn watch_versions(&self) -> Vec<String> {
        let versions = |request| match request {
            Request::List(_) | Request::Stream(_) => None,
            Request::Watch(options) => Some(options.resource_version),
        };
        self.requests().into_iter().filter_map(versions).collect()
    }

    /// Returns the name and the datum of each object.
    pub(crate) fn contents(&self) -> BTreeMap<String, String> {
        let state = self.0.lock();
        let datum = |object: &Value| object["data"]["datum"].as_str().unwrap_or_default().to_owned();
        state
            .objects
            .iter()
            .map(|((_, name), object)| (name.clone(), datum(object)))
            .collect()
    }
}

impl ServerState {
    fn put(&mut self, object: &Value) -> WatchLine {
        let mut object = object.clone();
        let metadata = &object["metadata"];
        let text = |key: &str| metadata[key].as_str().unwrap_or_default().to_owned();
        let key = (text("namespace"), text("name"));
        self.version += 1;
        let old = self.objects.get(&key);
        let event = if old.is_some() { "MODIFIED" } else { "ADDED" };
        let uid = old.map_or_else(
            || format!("uid-{}", self.uids),
            |old| old["metadata"]["uid"].as_str().unwrap().to_owned(),
        );
        self.uids += 1;
        object["metadata"]["uid"] = uid.into();
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        object["metadata"]["managedFields"] =
            json!([{"manager": "test", "fieldsV1": {"f:data": {"f:datum": {}}}}]);
        self.objects.insert(key.clone(), object.clone());
        self.event(key.0, event, &object)
    }

    fn delete(&mut self, namespace: &str, name: &str) -> Option<WatchLine> {
        let mut object = self.objects.remove(&(namespace.into(), name.into()))?;
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        Some(self.event(namespace.into(), "DELETED", &object))
    }

    fn event(&self, namespace: String, event: &str, object: &Value) -> WatchLine {
        WatchLine {
            version: self.version,
            namespace,
            line: with_type(event, object).to_string(),
        }
    }

    fn deliver(&mut self, event: WatchLine) {
        if let Some(held_back) = &mut self.held_back {
            held_back.push(event);
            return;
        }
        self.broadcast(Some(&event.namespace), event.line.as_bytes());
        self.history.push(event);
    }

    fn release(&mut self, order: impl FnOnce(&mut Vec<WatchLine>)) {
        let mut held_back = self.held_back.take().unwrap_or_default();
        order(&mut held_back);
        for event in held_back {
            self.deliver(event);
        }
    }

    fn broadcast(&mut self, namespace: Option<&str>, line: &[u8]) {
        for (wanted, watcher) in &self.watchers {
            if namespace.is_none() || wanted.is_none() || wanted.as_deref() == namespace {
                for chunk in chunks(&[line, b"\n"].concat()) {
                    let _ = watcher.send(Ok(chunk));
                }
            }
        }
    }

    fn of<'s>(&'s self, namespace: Option<&'s str>) -> impl Iterator<Item = &'s Value> + 's {
        let wanted = self
            .objects
            .iter()
            .filter(move |((of, _), _)| namespace.is_none_or(|namespace| namespace == of));
        wanted.map(|(_, object)| object)
    }

    /// Returns all objects as ADDED events.
    fn additions(&self, namespace: Option<&str>) -> Vec<String> {
        self.of(namespace)
            .map(|object| with_type("ADDED", object).to_string())
            .collect()
    }

    /// Returns the first lines of a watch.
    fn first_lines(
        &self,
        namespace: Option<&str>,
        options: &WatchOptions,
    ) -> Result<Vec<String>, ListWatchError> {
        let version = &*options.resource_version;
        if options.send_initial_events && self.streaming == Streaming::Refused {
            return Err(status(422, "Invalid"));
        }
        let from = number(version)?;
        if options.send_initial_events && self.streaming == Streaming::Known {
            if from > self.version {
                return Err(too_large());
            }
            let mut lines = self.additions(namespace);
            lines.push(initial_events_end(self.version));
            return Ok(lines);
        }
        if version.is_empty() {
            return Ok(self.additions(namespace));
        }
        if from < self.oldest {
            return Err(status(410, "Expired"));
        }
        let is_missed = |event: &&WatchLine| {
            event.version > from && namespace.is_none_or(|namespace| namespace == event.namespace)
        };
        Ok(self
            .history
            .iter()
            .filter(is_missed)
            .map(|event| event.line.clone())
            .collect())
    }

    /// Returns a page; the continue token has the version of the first page and the number of items that were sent.
    fn list(&self, namespace: Option<&str>, options: &ListOptions) -> String {
        let items: Vec<&Value> = self.of(namespace).collect();
        let (version, start) = match options
            .continue_token
            .as_deref()
            .and_then(|token| token.split_once('/'))
        {
            Some((version, start)) => (version.to_owned(), start.parse().unwrap()),
            None => (self.version.to_string(), 0),
        };
        let end = options
            .limit
            .map_or(items.len(), |limit| items.len().min(start + limit as usize));
        let token = if end < items.len() {
            format!("{version}/{end}")
        } else {
            String::new()
        };
        let metadata = json!({"resourceVersion": version, "continue": token});
        json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": items[start..end]})
            .to_string()
    }
}

/// Returns the bookmark that ends the initial events.
pub(crate) fn initial_events_end(version: u64) -> String {
    let metadata =
        json!({"resourceVersion": version.to_string(), "annotations": {"k8s.io/initial-events-end": "true"}});
    json!({"type": "BOOKMARK", "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}})
        .to_string()
}

/// Returns a watch event. Objects in watch events have kind and apiVersion, by default those of a ConfigMap; list items have neither.
fn with_type(event: &str, object: &Value) -> Value {
    let mut object = object.clone();
    if object["kind"].is_null() {
        object["kind"] = "ConfigMap".into();
    }
    object["apiVersion"] = "v1".into();
    json!({"type": event, "object": object})
}

fn chunks(bytes: &[u8]) -> Vec<Bytes> {
    bytes.chunks(CHUNK_BYTES).map(Bytes::copy_from_slice).collect()
}

fn body(bytes: &[u8]) -> ByteStream {
    stream::iter(chunks(bytes).into_iter().map(Ok)).boxed()
}

struct ScriptedListWatch {
    server: Arc<Server>,
    namespace: Option<String>,
}

impl ScriptedListWatch {
    fn answer(
        answer: Option<Answer>,
        real: impl FnOnce() -> Result<ByteStream, ListWatchError>,
    ) -> Result<ByteStream, ListWatchError> {
        match answer {
            None | Some(Answer::Real) => real(),
            Some(Answer::Fail(error)) => Err(error),
            Some(Answer::Body(bytes)) => Ok(body(&bytes)),
            Some(Answer::BrokenConnection(bytes)) => {
                let broken = ListWatchError::Broken("connection reset".into());
                Ok(body(&bytes).chain(stream::iter([Err(broken)])).boxed())
            }
            Some(Answer::Open(text)) => Ok(body(text.as_bytes()).chain(stream::pending()).boxed()),
            Some(Answer::Silence | Answer::Never) => Ok(stream::pending().boxed()),
        }
    }

    async fn after(
        is_never: bool,
        response: Result<ByteStream, ListWatchError>,
    ) -> Result<ByteStream, ListWatchError> {
        if is_never {
            std::future::pending::<()>().await;
        }
        response
    }
}

impl ListerWatcher for ScriptedListWatch {
    fn list(&self, options: ListOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>> {
        let mut state = self.server.0.lock();
        state.requests.push(Request::List(options.clone()));
        let answer = state.list_answers.pop_front();
        let is_never = matches!(answer, Some(Answer::Never));
        let response = Self::answer(answer, || {
            number(&options.resource_version)?;
            if options.exact && options.resource_version != state.version.to_string() {
                return Err(status(410, "Expired"));
            }
            Ok(body(state.list(self.namespace.as_deref(), &options).as_bytes()))
        });
        Self::after(is_never, response).boxed()
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>> {
        let mut state = self.server.0.lock();
        let answer = if options.send_initial_events {
            state
                .requests
                .push(Request::Stream(options.resource_version.clone()));
            state.stream_answers.pop_front()
        } else {
            state.requests.push(Request::Watch(options.clone()));
            state.watch_answers.pop_front()
        };
        let is_never = matches!(answer, Some(Answer::Never));
        let response = Self::answer(answer, || {
            let (sender, receiver) = mpsc::unbounded_channel();
            for line in state.first_lines(self.namespace.as_deref(), &options)? {
                for chunk in chunks(format!("{line}\n").as_bytes()) {
                    sender.send(Ok(chunk)).unwrap();
                }
            }
            state.watchers.push((self.namespace.clone(), sender));
            Ok(stream::unfold(receiver, |mut receiver| async {
                Some((receiver.recv().await?, receiver))
            })
            .boxed())
        });
        Self::after(is_never, response).boxed()
    }
}

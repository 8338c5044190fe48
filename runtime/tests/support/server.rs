//! An API server of one kind, in memory, that can drop changes, delay and reorder them, cut watches, forget history and answer what it is
//! told to.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use kubewright::{
    cache::{ByteStream, ListOptions, ListWatchError, ListerWatcher, SharedInformerFactory, WatchOptions},
    kube::core::Status,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// ByteStream are so small that every object is torn.
const CHUNK: usize = 40;

#[derive(Default)]
pub(crate) struct Server(Mutex<State>);

type Chunk = Result<Bytes, ListWatchError>;

/// A line of watches.
#[derive(Clone)]
struct Event {
    version: u64,
    namespace: String,
    line: String,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<(String, String), Value>,
    version: u64,
    uids: u64,
    /// What watches were told.
    history: Vec<Event>,
    /// What watches will be told, while the server holds it back.
    held: Option<Vec<Event>>,
    /// Watches of versions before this one are refused.
    oldest: u64,
    /// The namespace that each watches, and its body.
    watchers: Vec<(Option<String>, mpsc::UnboundedSender<Chunk>)>,
    requests: Vec<Request>,
    list_answers: VecDeque<Answer>,
    watch_answers: VecDeque<Answer>,
    stream_answers: VecDeque<Answer>,
    streaming: Streaming,
}

/// What the server makes of requests for streaming lists.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streaming {
    #[default]
    Known,
    /// It refuses them, as API servers do that know `resourceVersionMatch`.
    Refused,
    /// It begins an ordinary watch, as older ones do and others that are no kube-apiserver.
    Ignored,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    List(ListOptions),
    /// A streaming list: its version.
    Stream(String),
    Watch(WatchOptions),
}

/// What the next list or watch gets instead of the truth.
#[derive(Clone)]
pub(crate) enum Answer {
    /// The truth after all.
    Truth,
    Fail(ListWatchError),
    /// A body that ends then.
    Body(Vec<u8>),
    /// A body whose connection breaks then.
    Torn(Vec<u8>),
    /// A body that goes on, but nothing more comes.
    Open(String),
    /// A body that never comes.
    Silence,
    /// No answer.
    Never,
}

impl Answer {
    pub(crate) fn body(body: impl Into<Vec<u8>>) -> Self {
        Self::Body(body.into())
    }

    pub(crate) fn torn(body: impl Into<Vec<u8>>) -> Self {
        Self::Torn(body.into())
    }
}

pub(crate) fn status(code: u16, reason: &str) -> ListWatchError {
    ListWatchError::Status(Box::new(Status::failure("scripted", reason).with_code(code)))
}

/// A version that the server understands.
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

/// Nobody listens.
pub(crate) fn refused() -> ListWatchError {
    ListWatchError::Unreachable {
        message: "connection refused".into(),
        refused: true,
    }
}

impl Server {
    /// A server that knows streaming lists.
    pub(crate) fn new() -> Arc<Self> {
        super::log::install();
        Arc::default()
    }

    /// A server that refuses streaming lists.
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
        Arc::new(Source {
            server: self.clone(),
            namespace: namespace.map(Into::into),
        })
    }

    /// Creates or updates, and tells the watches.
    pub(crate) fn put(&self, object: &Value) {
        let mut state = self.0.lock();
        let event = state.put(object);
        state.tell(event);
    }

    /// Creates or updates; no watch is told, ever.
    pub(crate) fn put_unseen(&self, object: &Value) {
        self.0.lock().put(object);
    }

    /// The object as it is.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Value> {
        let state = self.0.lock();
        state.objects.get(&(namespace.into(), name.into())).cloned()
    }

    pub(crate) fn delete(&self, namespace: &str, name: &str) {
        let mut state = self.0.lock();
        if let Some(event) = state.delete(namespace, name) {
            state.tell(event);
        }
    }

    pub(crate) fn delete_unseen(&self, namespace: &str, name: &str) {
        self.0.lock().delete(namespace, name);
    }

    /// Keeps changes from the watches until they are released; lists see them at once.
    pub(crate) fn hold(&self) {
        self.0.lock().held.get_or_insert_default();
    }

    /// Tells what was held back, in order.
    pub(crate) fn release(&self) {
        self.0.lock().release(|_| {});
    }

    /// Tells what was held back, the last first.
    pub(crate) fn release_in_reverse(&self) {
        self.0.lock().release(|events| events.reverse());
    }

    /// Ends all watches, which are not told what was held back: those that go on from an earlier version are.
    pub(crate) fn cut_held(&self) {
        let mut state = self.0.lock();
        let held = state.held.take().unwrap_or_default();
        state.history.extend(held);
        state.watchers.clear();
    }

    /// Sends a line to all watches as it is.
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

    /// Whatever comes now has versions after this one, as on a server that was restored from a backup.
    pub(crate) fn set_version(&self, version: u64) {
        self.0.lock().version = version;
    }

    /// Ends all watches.
    pub(crate) fn cut(&self) {
        self.0.lock().watchers.clear();
    }

    /// Forgets history and ends all watches with an error that says so.
    pub(crate) fn reset(&self) {
        self.compact();
        let status = json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"});
        self.send(&json!({"type": "ERROR", "object": status}).to_string());
        self.cut();
    }

    /// Forgets history: watches of older versions are refused.
    pub(crate) fn compact(&self) {
        let mut state = self.0.lock();
        state.history.clear();
        state.version += 1;
        state.oldest = state.version;
    }

    /// The next lists get these answers, then the truth again.
    pub(crate) fn answer_lists(&self, answers: impl IntoIterator<Item = Answer>) {
        self.0.lock().list_answers.extend(answers);
    }

    /// As for lists: the next streaming lists.
    pub(crate) fn answer_streams(&self, answers: impl IntoIterator<Item = Answer>) {
        self.0.lock().stream_answers.extend(answers);
    }

    /// As for lists: the next watches that are no streaming lists.
    pub(crate) fn answer_watches(&self, answers: impl IntoIterator<Item = Answer>) {
        self.0.lock().watch_answers.extend(answers);
    }

    /// The requests since the last call.
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

    /// The versions of the streaming lists since the last look at the requests.
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

    /// Name and datum of what is there.
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

impl State {
    fn put(&mut self, object: &Value) -> Event {
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

    fn delete(&mut self, namespace: &str, name: &str) -> Option<Event> {
        let mut object = self.objects.remove(&(namespace.into(), name.into()))?;
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        Some(self.event(namespace.into(), "DELETED", &object))
    }

    fn event(&self, namespace: String, event: &str, object: &Value) -> Event {
        Event {
            version: self.version,
            namespace,
            line: with_type(event, object).to_string(),
        }
    }

    fn tell(&mut self, event: Event) {
        if let Some(held) = &mut self.held {
            held.push(event);
            return;
        }
        self.broadcast(Some(&event.namespace), event.line.as_bytes());
        self.history.push(event);
    }

    fn release(&mut self, order: impl FnOnce(&mut Vec<Event>)) {
        let mut held = self.held.take().unwrap_or_default();
        order(&mut held);
        for event in held {
            self.tell(event);
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

    /// All objects as additions.
    fn additions(&self, namespace: Option<&str>) -> Vec<String> {
        self.of(namespace)
            .map(|object| with_type("ADDED", object).to_string())
            .collect()
    }

    /// The lines with which a watch begins.
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
        let is_missed = |event: &&Event| {
            event.version > from && namespace.is_none_or(|namespace| namespace == event.namespace)
        };
        Ok(self
            .history
            .iter()
            .filter(is_missed)
            .map(|event| event.line.clone())
            .collect())
    }

    /// Pages by the limit; the token is the version of the first page and how many items were sent.
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

/// The bookmark after all initial events.
pub(crate) fn initial_events_end(version: u64) -> String {
    let metadata =
        json!({"resourceVersion": version.to_string(), "annotations": {"k8s.io/initial-events-end": "true"}});
    json!({"type": "BOOKMARK", "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}})
        .to_string()
}

/// Items of lists have neither kind nor apiVersion, objects of watches have both.
fn with_type(event: &str, object: &Value) -> Value {
    let mut object = object.clone();
    object["kind"] = "ConfigMap".into();
    object["apiVersion"] = "v1".into();
    json!({"type": event, "object": object})
}

fn chunks(bytes: &[u8]) -> Vec<Bytes> {
    bytes.chunks(CHUNK).map(Bytes::copy_from_slice).collect()
}

fn body(bytes: &[u8]) -> ByteStream {
    stream::iter(chunks(bytes).into_iter().map(Ok)).boxed()
}

struct Source {
    server: Arc<Server>,
    namespace: Option<String>,
}

impl Source {
    fn answer(
        answer: Option<Answer>,
        truth: impl FnOnce() -> Result<ByteStream, ListWatchError>,
    ) -> Result<ByteStream, ListWatchError> {
        match answer {
            None | Some(Answer::Truth) => truth(),
            Some(Answer::Fail(error)) => Err(error),
            Some(Answer::Body(bytes)) => Ok(body(&bytes)),
            Some(Answer::Torn(bytes)) => {
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

impl ListerWatcher for Source {
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

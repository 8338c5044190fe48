//! Whatever happens on the way: in the end the store and every handler's view equal the server.

use std::time::Duration;

use proptest::prelude::*;

use super::{
    server::{Answer, Server, Streaming, status},
    *,
};

#[derive(Debug, Clone)]
enum Step {
    Put(u8),
    Delete(u8),
    PutUnseen(u8),
    DeleteUnseen(u8),
    Bookmark,
    Cut,
    /// Cuts, and forgets history.
    Expire,
    Garbage,
    FailList(u16),
    FailWatch(u16),
    FailStream(u16),
    Streaming(Streaming),
    Hold,
    Release,
    ReleaseInReverse,
    Wait(u16),
    LateHandler,
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0u8..6;
    let code = prop::sample::select(vec![410u16, 429, 500, 503, 404, 422]);
    let streaming = prop::sample::select(vec![Streaming::Known, Streaming::Refused, Streaming::Ignored]);
    prop_oneof![
        6 => key.clone().prop_map(Step::Put),
        3 => key.clone().prop_map(Step::Delete),
        2 => key.clone().prop_map(Step::PutUnseen),
        2 => key.prop_map(Step::DeleteUnseen),
        1 => Just(Step::Bookmark),
        1 => Just(Step::Cut),
        2 => Just(Step::Expire),
        1 => Just(Step::Garbage),
        1 => code.clone().prop_map(Step::FailList),
        1 => code.clone().prop_map(Step::FailWatch),
        1 => code.prop_map(Step::FailStream),
        1 => streaming.prop_map(Step::Streaming),
        1 => Just(Step::Hold),
        1 => Just(Step::Release),
        1 => Just(Step::ReleaseInReverse),
        4 => (0u16..5000).prop_map(Step::Wait),
        1 => Just(Step::LateHandler),
    ]
}

/// What a handler knows from what it was told; refuses a life that does not alternate.
#[derive(Clone, Default)]
struct Mirror(Arc<Mutex<View>>);

#[derive(Default)]
struct View {
    objects: BTreeMap<String, String>,
    complaints: Vec<String>,
}

impl Mirror {
    fn put(&self, what: &str, expected: Option<&str>, object: &Object<ConfigMap>) {
        let (name, datum) = entry(&object.decode().unwrap());
        let mut view = self.0.lock();
        if view.objects.insert(name.clone(), datum).as_deref() != expected {
            view.complaints.push(format!("{what} {name}"));
        }
    }
}

impl EventHandler<ConfigMap> for Mirror {
    fn on_add(&self, object: &Object<ConfigMap>, _: bool) {
        self.put("add", None, object);
    }

    fn on_update(&self, old: &Object<ConfigMap>, new: &Object<ConfigMap>) {
        let (_, before) = entry(&old.decode().unwrap());
        self.put("update", Some(&before), new);
    }

    /// The final state may hold what no update brought.
    fn on_delete(&self, deleted: &Deleted<ConfigMap>) {
        let name = deleted.object.name().name();
        let mut view = self.0.lock();
        if view.objects.remove(name).is_none() {
            view.complaints.push(format!("delete {name}"));
        }
    }
}

fn answer(code: u16) -> Answer {
    Answer::Fail(status(code, ""))
}

async fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let server = Server::new();
    let factory = server.factory();
    let informer = factory.of::<ConfigMap>();
    let mut mirrors = vec![Mirror::default()];
    informer.add_event_handler(mirrors[0].clone());
    factory.start();
    for (number, step) in steps.iter().enumerate() {
        let object = |key: u8| config_map(&format!("o{key}"), &number.to_string());
        match *step {
            Step::Put(key) => server.put(&object(key)),
            Step::Delete(key) => server.delete("default", &format!("o{key}")),
            Step::PutUnseen(key) => server.put_unseen(&object(key)),
            Step::DeleteUnseen(key) => server.delete_unseen("default", &format!("o{key}")),
            Step::Bookmark => server.bookmark(),
            Step::Cut => server.cut(),
            Step::Expire => {
                server.compact();
                server.cut();
            }
            Step::Garbage => server.send(r#"{"type":"ADDED","object":{}}"#),
            Step::FailList(code) => server.answer_lists([answer(code)]),
            Step::FailWatch(code) => server.answer_watches([answer(code)]),
            Step::FailStream(code) => server.answer_streams([answer(code)]),
            Step::Streaming(streaming) => server.streaming(streaming),
            Step::Hold => server.hold(),
            Step::Release => server.release(),
            Step::ReleaseInReverse => server.release_in_reverse(),
            Step::Wait(millis) => tokio::time::sleep(Duration::from_millis(millis.into())).await,
            Step::LateHandler => {
                mirrors.push(Mirror::default());
                informer.add_event_handler(mirrors[mirrors.len() - 1].clone());
            }
        }
    }
    server.release();
    // The last relist brings what was unseen. Scripted failures may stand before it.
    server.compact();
    server.cut();
    tokio::time::sleep(Duration::from_hours(1)).await;
    let truth = server.contents();
    prop_assert_eq!(&contents(&informer.lister()), &truth);
    for mirror in &mirrors {
        let View { objects, complaints } = &*mirror.0.lock();
        prop_assert_eq!(objects, &truth);
        prop_assert!(complaints.is_empty(), "{:?}", complaints);
    }
    factory.shutdown().await;
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn store_and_handlers_end_up_equal_to_the_server(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(run(steps))?;
    }
}

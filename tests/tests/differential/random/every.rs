//! Every single change at every place of every example, and every odd thing in its metadata: nothing is left to chance, nothing is kept.

use super::examples::{definition, examples, more_examples};
use super::fields::{CLUSTER_SCOPED, examples_of_fields};
use super::statuses::statuses;
use super::variations::{Change, odd_metadata, places};
use super::{MOST, post, serve};
use crate::case::Step;
use crate::compare;
use crate::subject::{Answer, Subject};
use futures::StreamExt as _;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// So many requests are on their way at once.
const AT_ONCE: usize = 4;
/// What is done with a changed object.
const WAYS: [Way; 4] = [Way::Create, Way::Update, Way::UpdateLive, Way::Apply];
/// Whose metadata is changed.
const WAYS_OF_METADATA: [Way; 3] = [Way::Create, Way::Update, Way::Apply];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Create,
    /// Of one that is there, by what a person wrote.
    Update,
    /// By what the server gave.
    UpdateLive,
    Apply,
    /// Of its status alone.
    UpdateStatus,
}

/// An example that both servers have.
struct Kept {
    /// Where its kind is, and where it is.
    all: String,
    one: String,
    object: Value,
    /// As each of the servers gives it.
    live: Vec<Value>,
    /// In how many ways it is changed.
    ways: usize,
}

/// Makes all examples. One that a server refuses is none.
async fn keep(subjects: &[&Subject]) -> Vec<Kept> {
    let usual = [examples(), more_examples()].concat();
    let usual = usual.into_iter().map(|example| (example, WAYS.len()));
    // There are many fields: of most, half is asked.
    let rare = super::setting("DIFFERENTIAL_WAYS", 2);
    let rare = examples_of_fields().into_iter().map(|example| (example, rare));
    // Some kinds alone, while one works on them.
    let only = std::env::var("DIFFERENTIAL_ONLY").unwrap_or_default();
    let is_chosen = |plural: &str| only.is_empty() || only.split(',').any(|only| only == plural);
    let (mut kept, mut refused) = (vec![], String::new());
    let examples = usual.chain(rare).enumerate();
    for (number, ((group, plural, mut object), ways)) in
        examples.filter(|(_, ((_, plural, _), _))| is_chosen(plural))
    {
        let all = if CLUSTER_SCOPED.contains(&plural) {
            format!("{group}/{plural}")
        } else {
            format!("{group}/namespaces/every-{number}/{plural}")
        };
        let one = format!("{all}/a");
        // An event lies beside what it is about.
        for about in ["involvedObject", "regarding"] {
            if let Some(about) = object.get_mut(about) {
                about["namespace"] = json!(format!("every-{number}"));
            }
        }
        object["metadata"] = json!({ "name": "a", "labels": { "app": "x" } });
        let mut live = vec![];
        for subject in subjects {
            let namespace = json!({ "metadata": { "name": format!("every-{number}") } });
            subject.ask(&post("/api/v1/namespaces", namespace)).await;
            let (Answer(code, body), raw) = subject.ask(&post(&all, object.clone())).await;
            if code != 201 {
                let _ = writeln!(refused, "{all}: {body}");
            }
            live.push(raw);
        }
        kept.push(Kept {
            all,
            one,
            object,
            live,
            ways,
        });
    }
    assert!(refused.is_empty(), "\n{refused}");
    kept
}

/// What is wrong.
pub(crate) async fn compare(ours: &Subject, theirs: &Subject) -> String {
    serve(&[ours, theirs], definition()).await;
    let (mut wrong, mut found, mut asked) = (String::new(), 0, 0);
    for kept in keep(&[ours, theirs]).await {
        let Kept {
            all,
            one,
            object,
            live,
            ways,
        } = &kept;
        let changes = WAYS.into_iter().take(*ways).flat_map(|way| {
            let places = places(if way == Way::UpdateLive { &live[1] } else { object });
            places.into_iter().flat_map(move |place| {
                Change::all().into_iter().map(move |change| {
                    let step = |live: &Value| {
                        let mut body = if way == Way::UpdateLive { live } else { object }.clone();
                        change.clone().make(&mut body, &place);
                        way.step(all, one, body)
                    };
                    (format!("{way:?} {place}"), step(&live[0]), step(&live[1]))
                })
            })
        });
        let odd = WAYS_OF_METADATA.into_iter().flat_map(|way| {
            odd_metadata().into_iter().map(move |(field, value)| {
                let mut body = object.clone();
                body["metadata"][field] = value;
                let step = way.step(all, one, body);
                (format!("{way:?} /metadata/{field}"), step.clone(), step)
            })
        });
        let said = statuses(object["kind"].as_str().unwrap_or_default());
        let said = said.into_iter().flat_map(|status| {
            let status = json!({ "status": status });
            places(&status).into_iter().flat_map(move |place| {
                let status = status.clone();
                Change::all().into_iter().map(move |change| {
                    let mut status = status.clone();
                    change.make(&mut status, &place);
                    let step = |live: &Value| {
                        let mut body = live.clone();
                        body["status"] = status["status"].clone();
                        Way::UpdateStatus.step(all, one, body)
                    };
                    (
                        format!("{:?} {place}", Way::UpdateStatus),
                        step(&live[0]),
                        step(&live[1]),
                    )
                })
            })
        });
        let mut answers = futures::stream::iter(changes.chain(odd).chain(said))
            .map(|(title, here, there)| async move {
                let ((ours, _), (theirs, _)) = futures::join!(ours.ask(&here), theirs.ask(&there));
                (title, there, ours, theirs)
            })
            .buffered(AT_ONCE);
        while let Some((title, step, Answer(here, ours), Answer(there, theirs))) = answers.next().await {
            asked += 1;
            if there == 0 && here != 0 {
                eprintln!("the real server gives no answer: {title}");
                continue;
            }
            if (here == there && ours == theirs) || found >= super::setting("DIFFERENTIAL_MOST", MOST) {
                continue;
            }
            found += 1;
            let body = step.body.unwrap_or_default();
            let _ = writeln!(
                wrong,
                "{title}: {} {} {body}: {there} {here}",
                step.method, step.path
            );
            compare::apart(&theirs, &ours, "", &mut wrong);
        }
    }
    eprintln!("{asked} requests to each");
    wrong
}

impl Way {
    fn step(self, all: &str, one: &str, mut body: Value) -> Step {
        // What is there cannot be created, whatever it is like.
        if self == Self::Create && body["metadata"]["name"] == "a" {
            body["metadata"]["name"] = json!("b");
        }
        let (method, path) = match self {
            Self::Create => ("POST", format!("{all}?dryRun=All")),
            Self::Update | Self::UpdateLive => ("PUT", format!("{one}?dryRun=All")),
            Self::UpdateStatus => ("PUT", format!("{one}/status?dryRun=All")),
            Self::Apply => ("PATCH", format!("{one}?dryRun=All&fieldManager=x&force=true")),
        };
        Step {
            method: method.to_owned(),
            path,
            body: Some(body),
            content_type: matches!(self, Self::Apply).then(|| "application/apply-patch+yaml".to_owned()),
            ..Step::default()
        }
    }
}

//! The thread on which informers run.

use std::{io, thread};

use futures::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use tokio::{
    runtime::{Builder, Handle, RuntimeFlavor},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

type InformerTask = BoxFuture<'static, ()>;

/// Runs the informers of a factory. In a multi-threaded runtime they share one thread of their own.
///
/// An informer allocates objects and frees those that they replace. On several threads, the system's allocator would take new memory from
/// one thread's arena and return old memory to another's, which keeps it: up to a whole cache for each thread. Also, a task that blocks a
/// thread of the runtime does not delay informers. In a single-threaded runtime they run on its thread, with its clock.
#[derive(Default)]
pub(super) struct InformerThread {
    tasks: Mutex<Option<UnboundedSender<InformerTask>>>,
}

impl InformerThread {
    /// Spawns a task that `tracker` tracks. Must be called within a runtime; the task ends with it.
    pub(super) fn spawn(&self, tracker: &TaskTracker, task: impl Future<Output = ()> + Send + 'static) {
        let task = tracker.track_future(task).boxed();
        let runtime = Handle::current();
        if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
            runtime.spawn(task);
            return;
        }
        let mut tasks = self.tasks.lock();
        if tasks.is_none() {
            match start(&runtime) {
                Ok(sender) => *tasks = Some(sender),
                Err(error) => tracing::warn!(
                    "cannot start the informers' thread: {error}; they run on the runtime's threads"
                ),
            }
        }
        let Some(sender) = &*tasks else {
            runtime.spawn(task);
            return;
        };
        // Fails only when the runtime ends.
        let _ = sender.send(task);
    }
}

fn start(runtime: &Handle) -> io::Result<UnboundedSender<InformerTask>> {
    let (sender, tasks) = unbounded_channel();
    let own = Builder::new_current_thread().enable_all().build()?;
    let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
    let (stopping, ends) = (stop.clone(), ended.clone().drop_guard());
    thread::Builder::new().name("informers".into()).spawn(move || {
        own.block_on(stopping.run_until_cancelled(run(tasks)));
        drop(ends);
    })?;
    let stop = stop.drop_guard();
    runtime.spawn(async move {
        // Dropped with the runtime, which stops the thread.
        let _stop = stop;
        ended.cancelled().await;
    });
    Ok(sender)
}

/// Runs tasks until the sender is dropped and all have ended.
async fn run(mut tasks: UnboundedReceiver<InformerTask>) {
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            Some(task) = tasks.recv() => {
                running.spawn(task);
            }
            Some(_) = running.join_next() => {}
            else => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::mpsc::channel,
        time::{Duration, Instant},
    };

    use tokio::{sync::oneshot, time::sleep};

    use super::*;

    fn name() -> Option<String> {
        thread::current().name().map(str::to_owned)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn informers_share_a_thread_and_the_tracker_waits_for_them() {
        let (informers, tracker) = (InformerThread::default(), TaskTracker::new());
        let (sender, receiver) = channel();
        for _ in 0..3 {
            let sender = sender.clone();
            informers.spawn(&tracker, async move {
                sleep(Duration::from_millis(5)).await;
                sender.send((name(), thread::current().id())).unwrap();
            });
        }
        tracker.close();
        tracker.wait().await;
        let threads: Vec<_> = receiver.try_iter().collect();
        assert_eq!(threads.len(), 3);
        assert!(threads.iter().all(|thread| *thread == threads[0]));
        assert_eq!(threads[0].0.as_deref(), Some("informers"));
        // The thread ends.
        drop(informers);
        let alive = || Handle::current().metrics().num_alive_tasks();
        while alive() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn single_threaded_runtime_runs_informers_with_its_clock() {
        let (informers, tracker) = (InformerThread::default(), TaskTracker::new());
        let (sender, receiver) = oneshot::channel();
        let before = Instant::now();
        informers.spawn(&tracker, async move {
            sleep(Duration::from_hours(1)).await;
            sender.send(thread::current().id()).unwrap();
        });
        assert_eq!(receiver.await.unwrap(), thread::current().id());
        assert!(before.elapsed() < Duration::from_mins(1));
    }

    #[test]
    fn informers_end_with_the_runtime() {
        struct SendOnDrop(std::sync::mpsc::Sender<()>);
        impl Drop for SendOnDrop {
            fn drop(&mut self) {
                let _ = self.0.send(());
            }
        }
        let (sender, receiver) = channel();
        let informers = InformerThread::default();
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (entered, on_drop) = (runtime.enter(), SendOnDrop(sender));
        informers.spawn(&TaskTracker::new(), async move {
            let _on_drop = on_drop;
            pending::<()>().await;
        });
        assert!(receiver.try_recv().is_err());
        drop(entered);
        drop(runtime);
        receiver.recv_timeout(Duration::from_secs(30)).unwrap();
    }
}

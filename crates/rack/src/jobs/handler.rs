//! Plain functions as handlers.

use std::{future::Future, ops::Deref};

use keyrack_jobs::bee::{Failure, worker::Context};

use super::{Task, failure::BoxError};

/// What runs a task: an async function that takes the task, then whatever it needs, and returns a result.
///
/// ```
/// use keyrack::prelude::*;
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Charge { cents: u64 }
/// # impl Task for Charge { const QUEUE: &str = "charges"; type Output = String; }
/// # #[derive(Clone)] struct Bank;
/// # impl Bank { async fn charge(&self, _: u64) -> Result<String, BoxError> { Ok(String::new()) } }
///
/// async fn plain(task: Charge) -> Result<String, BoxError> {
///     Ok(format!("{} cents", task.cents))
/// }
///
/// async fn with_state(task: Charge, bank: State<Bank>, job: Context) -> anyhow::Result<String> {
///     job.progress(50).await?;
///     bank.charge(task.cents).await.map_err(anyhow::Error::from_boxed)
/// }
/// # fn example(rack: Keyrack) {
///
/// let worker = rack.jobs().worker().state(Bank).on(with_state);
/// # let _ = (worker, plain);
/// # }
/// ```
///
/// The arguments after the task are [`State`] and [`Context`], in any order. An error is a failed attempt, after which the job
/// is tried again unless it says otherwise; see [`TaskError`](super::TaskError).
pub trait Handler<S, Args>: Clone + Send + Sync + 'static {
    /// What it runs.
    type Task: Task;

    /// Runs it. Takes everything by value: the future is to live by itself.
    fn call(
        self,
        task: Self::Task,
        context: Context,
        state: S,
    ) -> impl Future<Output = Result<<Self::Task as Task>::Output, BoxError>> + Send + 'static;
}

/// What a handler can have as an argument beside its task.
pub trait FromContext<S>: Send + 'static {
    /// Takes it from the running job or from the worker's state.
    fn from_context(context: &Context, state: &S) -> Self;
}

/// The state of the worker, as [`Worker::state`](super::Worker::state) was given it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct State<S>(pub S);

impl<S> Deref for State<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S: Clone + Send + 'static> FromContext<S> for State<S> {
    fn from_context(_: &Context, state: &S) -> State<S> {
        State(state.clone())
    }
}

impl<S> FromContext<S> for Context {
    fn from_context(context: &Context, _: &S) -> Context {
        context.clone()
    }
}

macro_rules! handler {
    ($($argument:ident),*) => {
        impl<F, R, S, T, E, $($argument),*> Handler<S, (T, $($argument,)*)> for F
        where
            F: Fn(T, $($argument),*) -> R + Clone + Send + Sync + 'static,
            R: Future<Output = Result<T::Output, E>> + Send + 'static,
            T: Task,
            E: Into<BoxError>,
            $($argument: FromContext<S>,)*
        {
            type Task = T;

            #[allow(unused_variables, reason = "handlers without arguments need neither")]
            fn call(
                self,
                task: T,
                context: Context,
                state: S,
            ) -> impl Future<Output = Result<T::Output, BoxError>> + Send + 'static {
                let running = self(task, $($argument::from_context(&context, &state)),*);
                async move { running.await.map_err(Into::into) }
            }
        }
    };
}

handler!();
handler!(A);
handler!(A, B);

/// The task of a job.
pub(super) fn task<T: Task>(context: &Context) -> Result<T, Failure> {
    let read: Result<(T,), _> = serde_json::from_str(context.job().data());
    read.map(|(task,)| task).map_err(|error| {
        let name = std::any::type_name::<T>();
        Failure::fatal(format!("the data of the job is no \"{name}\": {error}"))
    })
}

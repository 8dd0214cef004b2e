// Async functions, with an executor of their own. Each function notes the line at which it waits, so the program knows
// its own chain: it prints the chain when the innermost future runs, and when the task is suspended.
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

thread_local!(static CHAIN: RefCell<Vec<String>> = RefCell::new(Vec::new()));
fn enter(name: &str, line: u32) {
    CHAIN.with(|chain| chain.borrow_mut().push(format!("{}:{}", name, line)));
}
fn leave() {
    CHAIN.with(|chain| chain.borrow_mut().pop());
}
fn print_chain(what: &str) {
    CHAIN.with(|chain| println!("{} {}", what, chain.borrow().iter().rev().cloned().collect::<Vec<_>>().join(" ")));
}

struct Gate(u32);
impl Future for Gate {
    type Output = u32;
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
        running(self.0);
        if self.0 == 0 {
            return Poll::Ready(7);
        }
        self.0 -= 1;
        Poll::Pending
    }
}
// Holds one future, as a timeout does.
struct Limit<F> {
    polls: u32,
    inner: F,
}
impl<F: Future> Future for Limit<F> {
    type Output = F::Output;
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = unsafe { self.get_unchecked_mut() };
        this.polls += 1;
        unsafe { Pin::new_unchecked(&mut this.inner) }.poll(context)
    }
}

#[inline(never)]
fn running(left: u32) {
    print_chain(if left > 99 { "" } else { "running" });
}
type Task = Pin<Box<dyn Future<Output = u32>>>;
#[inline(never)]
fn suspended(task: &mut Task) {
    unsafe { std::ptr::read_volatile(task as *mut Task as *const u8) };
    print_chain("suspended");
}
#[inline(never)]
fn made(task: &mut Task) {
    unsafe { std::ptr::read_volatile(task as *mut Task as *const u8) };
}
#[inline(never)]
fn ended(task: &mut Task) {
    unsafe { std::ptr::read_volatile(task as *mut Task as *const u8) };
    print_chain("ended");
}

mod shop {
    use super::*;
    pub async fn audit(n: u32) -> u32 {
        enter("shop::audit", line!()); let a = Gate(1).await; leave();
        let b = {
            enter("shop::audit", line!()); let b = Gate(n % 2 + 1).await; leave();
            b
        };
        a + b + n
    }
    pub async fn generic<T: Into<u32> + Copy>(n: T) -> u32 {
        enter("shop::generic", line!()); let a = audit(n.into()).await; leave();
        a + n.into()
    }
    pub struct Till {
        pub count: u32,
    }
    impl Till {
        pub async fn pay(&mut self, n: u32) -> u32 {
            enter("shop::{impl#0}::pay", line!()); let a = generic(n as u8).await; leave();
            let future = generic(n + 1);
            enter("shop::{impl#0}::pay", line!()); let b = future.await; leave();
            self.count += a + b;
            self.count
        }
    }
}

fn countdown(n: u32) -> Pin<Box<dyn Future<Output = u32>>> {
    Box::pin(async move {
        if n == 0 {
            enter("countdown::{async_block#0}", line!()); let a = Gate(1).await; leave();
            return a;
        }
        enter("countdown::{async_block#0}", line!()); let a = countdown(n - 1).await; leave();
        a + 1
    })
}

async fn day() -> u32 {
    let mut till = shop::Till { count: 0 };
    enter("day", line!()); let a = till.pay(4).await; leave();
    let boxed: Pin<Box<dyn Future<Output = u32> + Send>> = Box::pin(shop::audit(a));
    enter("day", line!()); let b = boxed.await; leave();
    enter("day", line!()); let c = Limit { polls: 0, inner: shop::audit(b) }.await; leave();
    let block = async {
        enter("day::{async_block#0}", line!()); let d = shop::audit(c).await; leave();
        d + 1
    };
    enter("day", line!()); let d = block.await; leave();
    enter("day", line!()); let e = countdown(5).await; leave();
    a + b + c + d + e
}

fn clone(data: *const ()) -> RawWaker {
    RawWaker::new(data, &TABLE)
}
fn nothing(_: *const ()) {}
static TABLE: RawWakerVTable = RawWakerVTable::new(clone, nothing, nothing, nothing);

fn main() {
    let mut task: Task = Box::pin(day());
    let waker = unsafe { Waker::from_raw(clone(std::ptr::null())) };
    let mut context = Context::from_waker(&waker);
    made(&mut task);
    while task.as_mut().poll(&mut context).is_pending() {
        suspended(&mut task);
    }
    ended(&mut task);
}

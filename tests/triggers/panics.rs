// A function that a panic passes through, caught by its caller: `panics N` prints how many of N calls came back.
use std::panic;

#[inline(never)]
fn deeper(n: u32) -> u32 {
    if n % 3 == 0 {
        panic::resume_unwind(Box::new(n));
    }
    n + 1
}

#[inline(never)]
fn step(n: u32) -> u32 {
    let text = n.to_string(); // dropped on both ways out
    deeper(n) + text.len() as u32
}

fn main() {
    let times = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1);
    let back = (1..=times).filter(|&n| panic::catch_unwind(|| step(n)).is_ok()).count();
    println!("{back} came back");
}

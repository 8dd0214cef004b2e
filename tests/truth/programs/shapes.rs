// Usual shapes of Rust: traits, generics, closures, enums, slices, recursion, panics that are caught, threads.
// Recursive: factorial, gcd, deep
#![allow(dead_code, unused_unsafe, unused_variables, static_mut_refs)]
static mut SINK: i64 = 0;

// Volatile, so that no call is left out. Not atomic, as kernels refuse probes at locked instructions.
#[inline(always)]
fn note(value: i64) {
    unsafe {
        let sink = &raw mut SINK;
        sink.write_volatile(sink.read_volatile().wrapping_add(value));
    }
}

macro_rules! enter { ($name:expr, $($text:tt)*) => { if cfg!(truth) { println!("call\t{}\t{}", $name, format!($($text)*)); } } }
macro_rules! leave { ($name:expr, $($text:tt)*) => { if cfg!(truth) { println!("return\t{}\t{}", $name, format!($($text)*)); } } }

#[derive(Clone, Copy)]
struct Point { x: i32, y: i32 }
#[derive(Clone, Copy)]
struct Mixed { small: u8, real: f64 }

trait Shape {
    fn area(&self, scale: i64) -> i64;
}
struct Square { side: i64 }
struct Strip { width: i64, height: i64 }
impl Shape for Square {
    fn area(&self, scale: i64) -> i64 {
        enter!("area", "self=? scale={}", scale);
        note(scale);
        let out = self.side * self.side * scale;
        leave!("area", "return={}", out);
        out
    }
}
impl Shape for Strip {
    fn area(&self, scale: i64) -> i64 {
        enter!("area", "self=? scale={}", scale);
        note(scale + 1);
        let out = self.width * self.height * scale;
        leave!("area", "return={}", out);
        out
    }
}

fn factorial(n: u64) -> u64 {
    enter!("factorial", "n={}", n);
    note(n as i64);
    let out = if n <= 1 { 1 } else { n * factorial(n - 1) };
    leave!("factorial", "return={}", out);
    out
}

fn gcd(a: i64, b: i64) -> i64 {
    enter!("gcd", "a={} b={}", a, b);
    note(a);
    let out = if b == 0 { a } else { gcd(b, a % b) };
    leave!("gcd", "return={}", out);
    out
}

fn countdown(mut left: i32) {
    enter!("countdown", "left={}", left);
    loop {
        note(left as i64);
        left -= 1;
        if left < 0 { break; }
    }
    leave!("countdown", "");
}

#[inline(never)]
fn moved(p: Point, by: i32) -> Point {
    enter!("moved", "p=? by={}", by);
    note(by as i64);
    leave!("moved", "return=?");
    Point { x: p.x + by, y: p.y + by }
}

#[inline(never)]
fn mixed(m: Mixed, flag: bool, letter: char) -> f64 {
    enter!("mixed", "m=? flag={} letter=?", flag as i32);
    note(m.small as i64);
    let out = if flag { m.real } else { m.small as f64 };
    leave!("mixed", "return={:?}", out);
    out
}

fn checked(value: i32) -> Result<i32, String> {
    enter!("checked", "value={}", value);
    note(value as i64);
    leave!("checked", "return=?");
    if value < 0 { Err(format!("{value} is negative")) } else { Ok(value) }
}

fn first(list: &[i32]) -> Option<i32> {
    enter!("first", "list=?");
    note(list.len() as i64);
    leave!("first", "return=?");
    list.first().copied()
}

#[inline(never)]
fn words(text: &str, times: usize) -> usize {
    enter!("words", "text=\"{}\" times={}", text, times);
    note(text.len() as i64);
    let out = text.split(' ').count() * times;
    leave!("words", "return={}", out);
    out
}

fn largest<T: PartialOrd + Copy>(a: T, b: T) -> T {
    enter!("largest", "a=? b=?");
    note(1);
    leave!("largest", "return=?");
    if a < b { b } else { a }
}

fn apply<F: Fn(i32) -> i32>(with: F, value: i32) -> i32 {
    enter!("apply", "with=? value={}", value);
    note(value as i64);
    let out = with(value);
    leave!("apply", "return={}", out);
    out
}

#[inline(never)]
fn by_pointer(with: &dyn Fn(i32) -> i32, value: i32) -> i32 {
    enter!("by_pointer", "with=? value={}", value);
    note(value as i64);
    let out = with(value);
    leave!("by_pointer", "return={}", out);
    out
}

#[inline(never)]
fn deep(depth: u32) -> u32 {
    enter!("deep", "depth={}", depth);
    note(depth as i64);
    if depth == 0 {
        panic!("at the end");
    }
    let out = deep(depth - 1) + 1;
    leave!("deep", "return={}", out);
    out
}

#[inline(never)]
#[allow(clippy::too_many_arguments)]
fn many(a: i8, b: i16, c: i32, d: i64, e: u8, f: u16, g: u32, h: u64, i: bool, j: i32) -> i64 {
    enter!("many", "a={} b={} c={} d={} e={} f={} g={} h={} i={} j={}", a, b, c, d, e, f, g, h, i as i32, j);
    note(a as i64 + b as i64 + c as i64 + d + e as i64 + f as i64 + g as i64 + h as i64 + i as i64 + j as i64);
    let out = c as i64 + d;
    leave!("many", "return={}", out);
    out
}

#[inline(never)]
fn reals(a: f64, b: f32, c: f64) -> f64 {
    enter!("reals", "a={:?} b={:?} c={:?}", a, b, c);
    note(a as i64);
    let out = a + b as f64 * c;
    leave!("reals", "return={:?}", out);
    out
}

struct Guard(i32);
impl Drop for Guard {
    fn drop(&mut self) {
        enter!("drop", "self=?");
        note(self.0 as i64);
        leave!("drop", "");
    }
}

#[inline(never)]
fn work(number: i32) -> i32 {
    enter!("work", "number={}", number);
    let mut sum = 0;
    for i in 0..10 {
        sum += apply(|v| v + i, number);
    }
    leave!("work", "return={}", sum);
    sum
}

fn main() {
    let one = std::hint::black_box(1);
    for n in 0..5 {
        note(factorial(n * one as u64) as i64);
    }
    note(gcd(48 * one as i64, 36) + gcd(17, 5 * one as i64));
    countdown(4 * one);
    countdown(0);
    let p = moved(moved(Point { x: one, y: 2 }, 10 * one), -1);
    note((p.x + p.y) as i64);
    note((mixed(Mixed { small: 3, real: 2.5 }, true, 'x') + mixed(Mixed { small: one as u8, real: 1.0 }, one == 2, 'y')) as i64);
    note(checked(5 * one).is_ok() as i64 + checked(-3 * one).is_ok() as i64);
    note(first(&[4, 5, one]).unwrap_or(0) as i64 + first(&[]).unwrap_or(9) as i64);
    note((words("a cup of tea", 2 * one as usize) + words("", 1)) as i64);
    note(largest(3, 4 * one) as i64 + largest(2.5, 1.5 * one as f64) as i64 + largest('a', 'b') as i64);
    let extra = 7 * one;
    note((apply(|v| v * extra, 3) + apply(|v| v - extra, 4 * one)) as i64);
    note((by_pointer(&|v| v + extra, 5) + by_pointer(&|v| v * v, 6 * one)) as i64);
    std::panic::set_hook(Box::new(|_| {}));
    note(std::panic::catch_unwind(|| deep(3)).is_err() as i64);
    note(many(-1, -2, 3 * one, -4, 200, 60000, 7, 8, true, -10));
    note((reals(1.5, 2.25, 4.0 * one as f64) + reals(0.0, -1.0, 3.0)) as i64);
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square { side: 3 }), Box::new(Strip { width: 2, height: 5 }), Box::new(Square { side: one as i64 })];
    for shape in &shapes {
        note(shape.area(2 * one as i64));
    }
    for i in 0..3 {
        let _guard = Guard(i * one);
    }
    let threads: Vec<_> = (0..4).map(|i| std::thread::spawn(move || work(i))).collect();
    for thread in threads {
        note(thread.join().unwrap() as i64);
    }
}

// Rust's types as values, and functions under all the kinds of names that Rust has.
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

// The compiler does not see what becomes of x.
#[inline(never)]
fn black_box<T>(x: T) -> T {
    unsafe { std::arch::asm!("/* {0} */", in(reg) &x) };
    x
}

mod shop {
    use super::black_box;
    pub struct Item {
        pub id: u32,
        pub name: String,
        pub tags: Vec<String>,
    }
    impl Item {
        #[inline(never)]
        pub fn total(&self, count: u32) -> u32 {
            black_box(&self.tags);
            self.id * count
        }
    }
    #[derive(Clone, Copy)]
    pub enum Color {
        Red,
        Green,
    }
    pub enum Order {
        Empty,
        Count(u32),
        Named { name: String, urgent: bool },
    }
    pub struct Meters(pub i64);
}

impl fmt::Display for shop::Item {
    #[inline(never)]
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

#[inline(never)]
fn twice<T: Copy + std::ops::Add<Output = T>>(x: T) -> T {
    black_box(x + x)
}

#[inline(never)]
fn texts(borrowed: &str, owned: &String, letter: char, wide: char, yes: bool) {
    black_box((borrowed, owned, letter, wide, yes));
}

#[inline(never)]
fn sequences(numbers: &Vec<i32>, slice: &[u16], array: &[u8; 3], pair: &(i32, &str), names: &Vec<String>) {
    black_box((numbers, slice, array, pair, names));
}

#[inline(never)]
fn enums(some: &Option<u32>, none: &Option<u32>, niche: &Option<Box<i32>>, gone: &Option<Box<i32>>, good: &Result<u8, String>,
         bad: &Result<u8, String>, color: &shop::Color) {
    black_box((some, none, niche, gone, good, bad, color));
}

#[inline(never)]
fn orders(first: &shop::Order, second: &shop::Order, third: &shop::Order) -> u32 {
    black_box((first, second, third));
    let count = |order: &shop::Order| match order {
        shop::Order::Empty => 0,
        shop::Order::Count(n) => *n,
        shop::Order::Named { name, urgent } => name.len() as u32 + *urgent as u32,
    };
    count(first) + count(second) + count(third)
}

#[inline(never)]
fn owners(boxed: &Box<shop::Item>, counted: &Rc<i64>, shared: &Arc<String>, length: &shop::Meters, map: &HashMap<String, u32>) {
    black_box((boxed, counted, shared, length, length.0, map));
}

#[inline(never)]
fn seventh(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, text: String, after: Result<u8, String>) -> u64 {
    black_box((a, b, c, d, e, f, &text, &after));
    a + f
}

#[inline(never)]
fn maybe(x: u32) -> Option<u32> {
    if black_box(x) > 1 { Some(x) } else { None }
}

#[inline(never)]
fn named(x: u32) -> String {
    format!("number {}", x)
}

#[inline(never)]
fn checked(x: u32) -> Result<u32, String> {
    if black_box(x) > 1 { Ok(x * 2) } else { Err(format!("only {}", x)) }
}

#[inline(never)]
fn rings(ring: &VecDeque<i32>, counted: &Rc<Vec<u8>>, boxed: &Box<[u16]>, item: &Rc<Box<shop::Item>>) {
    black_box((ring, counted, boxed, item));
}

fn main() {
    let item = shop::Item { id: 7, name: "lamp".to_string(), tags: vec!["new".to_string(), "red".to_string()] };
    black_box(item.total(6));
    black_box(format!("{}", item));
    twice(21);
    twice(1.5);
    // Through pointers, so that optimised code keeps to the functions' parameters.
    type Answer = Result<u8, String>;
    let texts = black_box::<fn(&str, &String, char, char, bool)>(texts);
    let sequences = black_box::<fn(&Vec<i32>, &[u16], &[u8; 3], &(i32, &str), &Vec<String>)>(sequences);
    let enums = black_box::<fn(&Option<u32>, &Option<u32>, &Option<Box<i32>>, &Option<Box<i32>>, &Answer, &Answer, &shop::Color)>(enums);
    let orders = black_box::<fn(&shop::Order, &shop::Order, &shop::Order) -> u32>(orders);
    let owners = black_box::<fn(&Box<shop::Item>, &Rc<i64>, &Arc<String>, &shop::Meters, &HashMap<String, u32>)>(owners);
    texts("borrowed", &"owned".to_string(), 'x', '\u{20ac}', true);
    sequences(&(0..20).collect(), &[5, 6], &[1, 2, 3], &(4, "four"), &vec!["ann".to_string(), "bob".to_string()]);
    enums(&Some(3), &None, &Some(Box::new(4)), &None, &Ok(5), &Err("bad".to_string()), &shop::Color::Green);
    black_box(shop::Color::Red);
    let named_order = shop::Order::Named { name: "gift".to_string(), urgent: true };
    black_box(orders(&shop::Order::Empty, &shop::Order::Count(9), &named_order));
    let mut map = HashMap::new();
    map.insert("key".to_string(), 1);
    owners(&Box::new(item), &Rc::new(8), &Arc::new("shared".to_string()), &shop::Meters(10), &map);
    let base = black_box(3);
    let add = |x: i32| black_box(x + base);
    black_box(add(4));
    black_box(seventh(1, 2, 3, 4, 5, 6, "seventh".to_string(), Err("eighth".to_string())));
    black_box(maybe(2));
    black_box(maybe(1));
    black_box(named(5));
    let _ = black_box(checked(4));
    let _ = black_box(checked(1));
    let rings = black_box::<fn(&VecDeque<i32>, &Rc<Vec<u8>>, &Box<[u16]>, &Rc<Box<shop::Item>>)>(rings);
    let mut ring: VecDeque<i32> = (0..6).collect();
    ring.rotate_left(4);
    let item = shop::Item { id: 8, name: "table".to_string(), tags: vec!["old".to_string()] };
    rings(&ring, &Rc::new(vec![31, 32]), &vec![41, 42].into_boxed_slice(), &Rc::new(Box::new(item)));
}

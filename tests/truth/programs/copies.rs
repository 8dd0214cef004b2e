// Small functions without effects of their own, inlined into callers with loops and branches, as in copies.c.
// Recursive: power
#![allow(dead_code, static_mut_refs)]
use std::hint::black_box;

macro_rules! enter { ($name:expr) => { if cfg!(truth) { println!("call\t{}\t", $name); } } }

#[inline(always)]
fn divisor(mut a: i32, mut b: i32) -> i32 {
    enter!("divisor");
    while b != 0 {
        let t = a % b;
        a = b;
        b = t;
    }
    a
}

#[inline(always)]
fn bits(mut v: u32) -> u32 {
    enter!("bits");
    let mut n = 0;
    while v != 0 {
        v &= v - 1;
        n += 1;
    }
    black_box(n)
}

#[inline(always)]
fn find(list: &[i32], key: i32) -> Option<usize> {
    enter!("find");
    for (i, &v) in list.iter().enumerate() {
        if v == key {
            return Some(i);
        }
    }
    None
}

#[inline(always)]
fn hash_of(text: &[u8]) -> u32 {
    enter!("hash_of");
    let mut h = 2166136261u32;
    for &c in text {
        h = (h ^ c as u32).wrapping_mul(16777619);
    }
    h
}

#[inline(always)]
fn upper(c: u8) -> u8 {
    enter!("upper");
    if c >= b'a' && c <= b'z' { c - 32 } else { c }
}

#[inline(always)]
fn clamp(v: i32, low: i32, high: i32) -> i32 {
    enter!("clamp");
    if v < low { low } else if v > high { high } else { v }
}

#[inline(always)]
fn step(state: u8, input: i32) -> u8 {
    enter!("step");
    match state {
        0 => if input > 0 { 1 } else { 0 },
        1 => if input > 5 { 2 } else { 0 },
        2 => if input & 1 != 0 { 3 } else { 1 },
        _ => 0,
    }
}

#[inline(always)]
fn parse(text: &[u8]) -> Option<i32> {
    enter!("parse");
    let mut value = 0i32;
    if text.is_empty() {
        return None;
    }
    for &c in text {
        if !c.is_ascii_digit() {
            return None;
        }
        value = value.wrapping_mul(10).wrapping_add((c - b'0') as i32);
    }
    Some(value)
}

fn power(base: u32, exponent: u32) -> u32 {
    enter!("power");
    if exponent == 0 { 1 } else { base.wrapping_mul(power(base, exponent - 1)) }
}

#[inline(never)]
fn loops(numbers: &[i32]) {
    enter!("loops");
    for i in 0..numbers.len() {
        black_box(divisor(numbers[i], numbers[(i + 7) % numbers.len()]));
    }
    for &v in numbers {
        black_box(bits(v as u32));
    }
    for &v in numbers {
        black_box(clamp(v, 3, 20));
    }
}

#[inline(never)]
fn searches(list: &[i32], key: i32) -> usize {
    enter!("searches");
    match find(list, key) {
        Some(at) if at > 3 => find(&list[at..], key * 2).unwrap_or(0) + at,
        Some(at) => at,
        None => find(list, key + 1).unwrap_or(9),
    }
}

#[inline(never)]
fn texts(list: &[&str]) -> u32 {
    enter!("texts");
    let mut sum = 0u32;
    for text in list {
        sum = sum.wrapping_add(hash_of(text.as_bytes()));
        if let Some(v) = parse(text.as_bytes()) {
            sum = sum.wrapping_add(v as u32);
        }
        for c in text.bytes() {
            sum += upper(c) as u32;
        }
    }
    sum
}

#[inline(never)]
fn machine(inputs: &[i32]) -> u8 {
    enter!("machine");
    let mut state = 0;
    for &v in inputs {
        state = step(state, v);
    }
    state
}

fn main() {
    let mut numbers = [0i32; 40];
    for i in 0..40 {
        numbers[i] = black_box((i as i32 * 37 + 11) % 41);
    }
    loops(black_box(&numbers));
    for i in 0..20 {
        black_box(searches(black_box(&numbers[..20]), numbers[i] + (i as i32 & 3)));
    }
    black_box(texts(black_box(&["alpha", "42", "x1 22", "-", "907", "7"])));
    black_box(machine(black_box(&numbers)));
    for i in 0..4 {
        black_box(power(3, black_box(i + 2)));
    }
}

// The counter of a post office, for the examples. It looks up the destinations of parcels. Build it with `rustc -g -O`.
use std::collections::HashMap;

struct Office {
    streets: HashMap<String, u32>,
}

impl Office {
    #[inline(never)]
    fn route(&self, street: &str, express: Option<u32>) -> Option<u32> {
        let bag = *self.streets.get(street)?;
        Some(bag * 10 + express.unwrap_or(0))
    }
}

fn main() {
    let mut office = Office { streets: HashMap::new() };
    office.streets.insert("High Street".to_string(), 3);
    office.streets.insert("Mill Lane".to_string(), 5);
    let parcels = [("High Street", None), ("Mill Lane", Some(2)), ("Nowhere Road", Some(1)), ("High Street", Some(7))];
    let mut sum = 0;
    for (street, express) in parcels {
        sum += office.route(street, express).unwrap_or(0);
    }
    println!("{}", sum);
}

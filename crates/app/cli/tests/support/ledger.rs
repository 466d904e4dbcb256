//! What the program says of a run in `--json`: its ledger, by entry and by stage.

use super::errors;
use serde_json::Value;
use std::process::Output;

/// The only run of the results.
pub fn results(output: &Output) -> Value {
    let printed =
        || format!("{}: {}{}", output.status, String::from_utf8_lossy(&output.stdout), errors(output));
    assert!(output.status.success(), "{}", printed());
    let results: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    results["runs"][0].clone()
}

/// Packets of an entry of the ledger.
pub fn entry(run: &Value, direction: &str, entry: &str) -> i64 {
    run["ledger"][direction][entry].as_i64().unwrap_or_else(|| panic!("no {entry}: {}", run["ledger"]))
}

/// Packets lost at a stage, data.
pub fn lost(run: &Value, stage: &str) -> i64 {
    let rows = run["ledger"]["data"]["lost"].as_array().expect("a ledger has losses, if only zeros");
    rows.iter().filter(|row| row["stage"] == stage).map(|row| row["packets"].as_i64().unwrap()).sum()
}

/// Packets lost at all stages, data.
pub fn lost_anywhere(run: &Value) -> i64 {
    let rows = run["ledger"]["data"]["lost"].as_array().expect("a ledger has losses, if only zeros");
    rows.iter().map(|row| row["packets"].as_i64().unwrap()).sum()
}

/// What a stage lost of the data in an interval.
#[derive(Debug)]
pub struct LostIn {
    /// Start and end of the interval in seconds.
    pub time: [f64; 2],
    /// Packets.
    pub lost: i64,
    /// Within so many packets the interval's account is known.
    pub uncertain: i64,
}

/// What a stage lost of the data in each interval.
pub fn lost_by_interval(run: &Value, stage: &str) -> Vec<LostIn> {
    let seconds = |value: &Value| value.as_f64().unwrap() / 1e9;
    let of = |moment: &Value| {
        let places = moment["lost"].as_array().unwrap().iter().filter(|lost| lost["stage"] == stage);
        LostIn {
            time: ["from_ns", "to_ns"].map(|border| seconds(&moment[border])),
            lost: places.map(|lost| lost["packets"].as_i64().unwrap()).sum(),
            uncertain: moment["uncertain"].as_i64().unwrap(),
        }
    };
    moments(run, "data").map(of).collect()
}

/// The intervals of a direction.
fn moments<'a>(run: &'a Value, direction: &'a str) -> impl Iterator<Item = &'a Value> {
    let all = run["ledger_intervals"].as_array().expect("the ledger by interval");
    all.iter().filter(move |moment| moment["direction"] == direction)
}

/// Asserts that every interval balances, and that all together are the ledger, entry by entry and place by place.
pub fn assert_intervals_add_up<'a>(run: &'a Value) {
    let number = |value: &Value| value.as_i64().unwrap_or(0);
    for direction in ["data", "ack"] {
        let account = &run["ledger"][direction];
        let all = || moments(run, direction);
        assert!(all().count() > 1, "{direction}: {}", run["ledger_intervals"]);
        for entry in ["sent", "delivered", "unexplained"] {
            let sum: i64 = all().map(|moment| number(&moment[entry])).sum();
            assert_eq!(sum, number(&account[entry]), "{direction} {entry}: {}", run["ledger_intervals"]);
        }
        let places = |moment: &'a Value| moment["lost"].as_array().expect("losses").iter();
        for row in account["lost"].as_array().expect("a ledger has losses, if only zeros") {
            let side = |row: &Value| [&row["stage"], &row["place"], &row["cause"]].map(Value::clone);
            let same = |lost: &&Value| side(lost) == side(row);
            let whole: i64 = places(account).filter(same).map(|lost| number(&lost["packets"])).sum();
            let sum: i64 = all().flat_map(places).filter(same).map(|lost| number(&lost["packets"])).sum();
            assert_eq!(sum, whole, "{direction} {row}: {}", run["ledger_intervals"]);
        }
        for entry in ["copied", "repair", "recovered", "decoded"] {
            let whole: i64 =
                account[entry].as_array().into_iter().flatten().map(|row| number(&row["packets"])).sum();
            let sum: i64 = all().map(|moment| number(&moment[entry])).sum();
            assert_eq!(sum, whole, "{direction} {entry}");
        }
        for moment in all() {
            let lost: i64 = places(moment).map(|lost| number(&lost["packets"])).sum();
            let sum = |entries: &[&str]| entries.iter().map(|entry| number(&moment[*entry])).sum::<i64>();
            let offered = sum(&["sent", "copied", "repair", "recovered"]);
            let known = sum(&["delivered", "decoded", "in_flight", "unexplained"]);
            assert_eq!(offered, lost + known, "{moment}");
        }
    }
}

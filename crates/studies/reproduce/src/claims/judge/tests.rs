use super::*;

const CONTROL: &str = "flow.congestion";

fn cell(control: &str, value: f64) -> Cell {
    let factors = [(CONTROL.to_owned(), control.to_owned()), ("path.rtt".into(), "6.2 ms".into())];
    Cell { factors: factors.into(), value: Some(value), stages: BTreeMap::new() }
}

fn cells() -> Vec<Cell> {
    [("reno", 1.0e9), ("cubic", 4.0e9), ("highspeed", 4.1e9), ("bic", 8.0e9)].map(|(c, v)| cell(c, v)).into()
}

fn judged(expect: Expect) -> (String, Verdict) {
    let found = judge(&expect, Some(CONTROL), "bit/s", &cells());
    (found.measured, found.verdict)
}

fn differs(by: &str) -> Verdict {
    Verdict::Differs { by: by.into() }
}

fn order(text: &str) -> Expect {
    Expect { order: Some(Order::parse(text).unwrap()), ..Expect::default() }
}

#[test]
fn every_cell_has_to_keep_a_value_and_bounds() {
    let expect = Expect { value: Some((4.0e9, 0.1)), ..Expect::default() };
    let (measured, verdict) = judged(expect);
    assert_eq!(measured, "1 Gbit/s (reno) to 8 Gbit/s (bic)");
    assert_eq!(verdict, differs("reno: 75 % below; bic: 100 % above"));
    let expect = Expect { min: Some(Bound::One(1e9)), max: Some(Bound::One(8e9)), ..Expect::default() };
    assert_eq!(judged(expect).1, Verdict::Agrees);
    let expect = Expect { max: Some(Bound::One(5e9)), ..Expect::default() };
    assert_eq!(judged(expect).1, differs("bic: 60 % above the most"));
    let expect = Expect { min: Some(Bound::One(9e9)), ..Expect::default() };
    assert_eq!(
        judged(expect).1,
        differs(
            "reno: 89 % below the least; cubic: 56 % below the least; highspeed: 54 % below the least; and 1 more"
        )
    );
}

#[test]
fn a_single_cell_needs_no_name() {
    let expect = Expect { value: Some((3.6e9, 0.3)), ..Expect::default() };
    let one = [cell("reno", 7.2e9)];
    let found = judge(&expect, None, "bit/s", &one);
    assert_eq!(found, Judgement { measured: "7.2 Gbit/s".into(), verdict: differs("100 % above") });
    let exact = Expect { value: Some((7.2e9, 0.0)), ..Expect::default() };
    assert_eq!(judge(&exact, None, "bit/s", &one).verdict, Verdict::Agrees);
    let none = Expect { max: Some(Bound::One(0.0)), ..Expect::default() };
    assert_eq!(
        judge(&none, None, "", &[Cell { value: Some(0.25), ..Cell::default() }]).verdict,
        differs("0.25 above the most")
    );
}

#[test]
fn orders_hold_or_say_what_does_not() {
    assert_eq!(judged(order("bic > highspeed ~ cubic > reno")).1, Verdict::Agrees);
    let (measured, verdict) = judged(order("cubic > bic, reno"));
    assert_eq!(measured, "cubic 4 Gbit/s, bic 8 Gbit/s, reno 1 Gbit/s");
    assert_eq!(verdict, differs("cubic is 50 % below bic"));
    assert_eq!(judged(order("bic ~ cubic")).1, differs("bic and cubic are 50 % apart"));
    assert_eq!(
        judged(order("bic > htcp")).1,
        Verdict::Missing { why: "no run has `flow.congestion` = htcp".into() }
    );
}

#[test]
fn an_order_and_a_bound_both_have_to_hold() {
    let expect = Expect { max: Some(Bound::One(7e9)), ..order("bic > cubic") };
    assert_eq!(judged(expect).1, differs("bic: 14 % above the most"));
}

#[test]
fn groups_are_judged_one_by_one() {
    let mut all = cells();
    for mut other in cells() {
        other.factors.insert("path.rtt".into(), "24 ms".into());
        other.value = other.value.map(|v| 9e9 - v);
        all.push(other);
    }
    let found = judge(&order("bic > reno"), Some(CONTROL), "bit/s", &all);
    assert_eq!(found.verdict, differs("24 ms: bic is 88 % below reno"));
}

#[test]
fn a_trend_lets_small_steps_back_be_and_no_large_one() {
    let falls = |levels: &[&str], within| Expect {
        trend: Some(Trend {
            rises: false,
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
            within,
        }),
        ..Expect::default()
    };
    assert_eq!(judged(falls(&["bic", "cubic", "highspeed", "reno"], 0.05)).1, Verdict::Agrees);
    let strictly = falls(&["bic", "cubic", "highspeed", "reno"], 0.0);
    assert_eq!(judged(strictly).1, differs("highspeed is 2.5 % above cubic"));
    let (measured, verdict) = judged(falls(&["reno", "bic", "cubic"], 0.05));
    assert_eq!(measured, "reno 1 Gbit/s, bic 8 Gbit/s, cubic 4 Gbit/s");
    assert_eq!(verdict, differs("bic is 8 Gbit/s, above reno's 1 Gbit/s"));
    assert_eq!(judged(falls(&["cubic", "highspeed"], 0.05)).1, differs("highspeed is not below cubic"));
    let level = Expect { shape: Some("falls".into()), ..falls(&["bic", "cubic", "highspeed"], 0.05) };
    assert_eq!(judged(level).1, Verdict::Agrees, "a shape with numbers beside it is judged by them");
    let rises = Expect {
        trend: Some(Trend { rises: true, levels: vec!["reno".into(), "cubic".into()], within: 0.0 }),
        ..Expect::default()
    };
    assert_eq!(judged(rises).1, Verdict::Agrees);
}

#[test]
fn an_order_and_a_ratio_both_have_to_hold() {
    let ratio = Ratio { of: vec!["bic".into()], to: "reno".into(), max: Some(2.0), ..Ratio::default() };
    let expect = Expect { ratio: Some(ratio), ..order("bic > cubic") };
    assert_eq!(judged(expect).1, differs("bic / reno: 4.0 times it"));
}

#[test]
fn equal_values_are_not_ordered() {
    let all = [cell("reno", 0.0), cell("bic", 0.0)];
    let found = judge(&order("bic > reno"), Some(CONTROL), "", &all);
    assert_eq!(found.verdict, differs("bic and reno are both 0"));
}

#[test]
fn ratios() {
    let ratio = |of: &[&str], value, min, max| Expect {
        ratio: Some(Ratio {
            of: of.iter().map(|l| (*l).to_owned()).collect(),
            to: "reno".into(),
            min,
            max,
            value,
        }),
        ..Expect::default()
    };
    let (measured, verdict) = judged(ratio(&["bic", "cubic"], None, Some(5.0), None));
    assert_eq!(measured, "bic 8, cubic 4 of reno (1 Gbit/s)");
    assert_eq!(verdict, differs("cubic / reno: 20 % below the least"));
    assert_eq!(judged(ratio(&["cubic"], Some((4.2, 0.1)), None, None)).1, Verdict::Agrees);
    assert_eq!(judged(ratio(&["cubic"], Some((0.71, 0.1)), None, None)).1, differs("5.6 times it"));
    assert_eq!(judged(ratio(&["bic"], None, None, Some(4.0))).1, differs("100 % above the most"));
}

#[test]
fn stages_are_bounded_ordered_and_empty() {
    let stages = |list: &[(&str, f64)]| list.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect();
    let cell =
        Cell { stages: stages(&[("rcvbuf", 9e-4), ("network", 0.0), ("rx_ring", 0.0)]), ..Cell::default() };
    let bounds = stages(&[("rcvbuf", 6e-4), ("network", 0.0)]);
    let expect = Expect { max: Some(Bound::ByStage(bounds)), ..Expect::default() };
    let found = judge(&expect, None, "", std::slice::from_ref(&cell));
    assert_eq!(found.verdict, differs("rcvbuf: 50 % above the most"));
    assert_eq!(found.measured, "network 0, rcvbuf 9.00e-4");
    let expect = Expect { zero: vec!["network".into(), "tx_ring".into()], ..order("rcvbuf > network") };
    let why = "the ledger does not count `tx_ring`".into();
    assert_eq!(judge(&expect, None, "", std::slice::from_ref(&cell)).verdict, Verdict::Missing { why });
    let expect = Expect { zero: vec!["rcvbuf".into()], ..order("rcvbuf > network") };
    assert_eq!(judge(&expect, None, "", &[cell]).verdict, differs("rcvbuf: 9.00e-4 and not none"));
}

#[test]
fn shapes_are_drawn_and_what_was_not_measured_is_said() {
    let shape = Expect { shape: Some("falls".into()), ..Expect::default() };
    assert_eq!(judged(shape.clone()).1, Verdict::Drawn);
    let none = [Cell { value: None, ..cell("bic", 0.0) }];
    assert!(matches!(judge(&shape, None, "", &none).verdict, Verdict::Missing { .. }));
    let mut some = cells();
    some[0].value = None;
    let why = "the runs of reno do not give this metric".into();
    assert_eq!(judge(&order("bic > cubic"), Some(CONTROL), "", &some).verdict, Verdict::Missing { why });
}

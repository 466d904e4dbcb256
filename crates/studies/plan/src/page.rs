//! The answer as a page, in the look of the report.

use crate::answer::Answer;
use crate::axis::Axis;
use crate::beside::{Beside, Compared};
use crate::budget::Budget;
use crate::surface::Surface;
use crate::text::{apart, beside_rows, budget_rows, counted, gbit, rate_rows, sentences};
use wirespeed_report::planning::{Curve, PlanPage, Rectangle, Spot, SurfaceAxis, SurfaceFigure, Table};

/// The page. `command`: what makes it again; `generated_by`: the program and its version.
pub fn page(answer: &Answer, command: &str, generated_by: &str) -> String {
    let question = &answer.question;
    let buffer = if question.is_buffer_assumed { " (assumed)" } else { "" };
    let facts = vec![
        format!("{}, RTT {}", question.rate, question.rtt),
        match question.loss {
            0.0 => format!("no losses of its own, buffer {}{buffer}", question.buffer),
            loss => format!("loss rate {loss:e}, buffer {}{buffer}", question.buffer),
        },
        format!(
            "MTU {}, {}",
            question.mtu,
            question.host.as_deref().unwrap_or("hosts that are never short of time")
        ),
    ];
    let tables = vec![
        table("rates", "Rates", rate_rows(answer), "Mean goodput of all flows, with its interval of 95 %."),
        table(
            "budgets",
            "Budgets",
            budget_rows(answer),
            "The value at which a share of the rate is left. In brackets: the last value that is surely better, and the first that is surely worse.",
        ),
        answer.beside.as_ref().map(measured).unwrap_or_default(),
        table(
            "needs",
            &format!("Needs of the hosts, for {}", counted(answer.flows)),
            (
                ["what", "value", "formula"],
                answer.needs.iter().map(|n| [n.what.into(), n.value.clone(), n.formula.clone()]).collect(),
            ),
            "`wirespeed doctor` compares hosts with them.",
        ),
        table(
            "risks",
            "Risks",
            (["what", "risk"], answer.risks.iter().map(|r| [r.what.into(), r.text.clone()]).collect()),
            "",
        ),
    ];
    wirespeed_report::planning::page(&PlanPage {
        title: format!("{} at {}", question.rate, question.rtt),
        facts,
        answer: sentences(answer),
        tables: tables.into_iter().filter(|table| !table.rows.is_empty() || !table.note.is_empty()).collect(),
        curves: curves(answer),
        surfaces: answer.surfaces.iter().map(|surface| figure(surface, answer)).collect(),
        command: command.into(),
        generated_by: generated_by.into(),
    })
}

fn table<const N: usize>(
    id: &str,
    title: &str,
    (head, rows): ([&str; N], Vec<[String; N]>),
    note: &str,
) -> Table {
    let head = head.map(str::to_owned).into();
    Table {
        id: id.into(),
        title: title.into(),
        note: note.into(),
        head,
        rows: rows.into_iter().map(Vec::from).collect(),
    }
}

/// The table of recorded runs.
fn measured(beside: &Beside) -> Table {
    let ratio = "The ratio is that of the measured goodput to the surface's value at the same place.";
    let note = apart(beside).map_or_else(|| ratio.into(), |apart| format!("{ratio} {apart}"));
    table("measured", "Measured beside predicted", beside_rows(beside), &note)
}

/// The rate over the loss, for each algorithm and number of flows.
fn curves(answer: &Answer) -> Vec<Curve> {
    let mut budgets: Vec<&Budget> = answer.budgets.iter().filter(|b| b.axis == Axis::Loss).collect();
    budgets.dedup_by(|a, b| (&a.congestion, a.flows) == (&b.congestion, b.flows));
    let curve = |budget: &&Budget| Curve {
        congestion: budget.congestion.clone(),
        label: format!(
            "{}, {} flow{}",
            budget.congestion,
            budget.flows,
            if budget.flows == 1 { "" } else { "s" }
        ),
        points: budget
            .measured
            .iter()
            .map(|(loss, m)| (*loss, m.goodput_bps, m.low_bps, m.high_bps))
            .collect(),
    };
    budgets.iter().map(curve).collect()
}

fn figure(surface: &Surface, answer: &Answer) -> SurfaceFigure {
    let axis = |axis: Axis| SurfaceAxis {
        title: axis.title().into(),
        marked: surface.values(axis).into_iter().map(|value| axis.in_titles_unit(value)).collect(),
    };
    let ends = |axis: Axis, (from, to): (f64, f64)| (axis.in_titles_unit(from), axis.in_titles_unit(to));
    let tile = |tile: &crate::surface::Tile| Rectangle {
        x: ends(surface.x, tile.x),
        y: ends(surface.y, tile.y),
        goodput_bps: tile.measured.goodput_bps,
        hint: format!(
            "{} {}, {} {}: {}; {}",
            surface.x.name(),
            surface.x.text(surface.x.of(&tile.measured.point)),
            surface.y.name(),
            surface.y.text(surface.y.of(&tile.measured.point)),
            gbit(tile.measured.goodput_bps),
            tile.measured.limit
        ),
    };
    let spots = spots(surface, answer);
    SurfaceFigure {
        title: format!(
            "Goodput of {}, {}, over {} and {}",
            surface.congestion,
            counted(surface.flows),
            surface.x.name(),
            surface.y.name()
        ),
        x: axis(surface.x),
        y: axis(surface.y),
        rate_bps: answer.question.rate.get() as f64,
        rectangles: surface.tiles.iter().map(tile).collect(),
        note: note(surface, !spots.is_empty()),
        spots,
    }
}

fn note(surface: &Surface, has_spots: bool) -> String {
    let simulated = match surface.y {
        Axis::Cores => {
            "Each rectangle was simulated at the values of its row and column: so many cores of each host serve the flows and the interrupts."
        }
        _ => "Each rectangle was simulated in its middle; they are smaller where the rate bends.",
    };
    let spots = if has_spots { " Circles are recorded runs." } else { "" };
    format!("{simulated}{spots} Colours are on a logarithmic scale.")
}

/// The recorded runs on a surface.
fn spots(surface: &Surface, answer: &Answer) -> Vec<Spot> {
    let all = answer.beside.iter().flat_map(|beside| &beside.compared);
    let here = all.filter(|of| (of.x, of.y) == (surface.x, surface.y));
    let spot = |of: &Compared| Spot {
        x: of.x.in_titles_unit(of.x.of(&of.run.point)),
        y: of.y.in_titles_unit(of.y.of(&of.run.point)),
        goodput_bps: of.run.goodput_bps,
        hint: format!(
            "{} on {}, {}: measured {}, surface {}",
            of.run.name,
            of.run.substrate.word(),
            of.place(),
            gbit(of.run.goodput_bps),
            gbit(of.predicted_bps)
        ),
    };
    here.map(spot).collect()
}

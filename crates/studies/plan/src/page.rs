//! The answer as a page, in the look of the report.

use crate::answer::Answer;
use crate::budget::{Axis, Budget};
use crate::surface::Surface;
use crate::text::{budget_rows, counted, gbit, rate_rows, sentences, value};
use wirespeed_report::planning::{Curve, PlanPage, Rectangle, SurfaceFigure, Table};

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
        tables: tables.into_iter().filter(|table| !table.rows.is_empty()).collect(),
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
    let title = |axis: Axis| match axis {
        Axis::Loss => "Loss rate",
        Axis::Rtt => "RTT (ms)",
        Axis::Buffer => "Buffer (MB)",
    };
    // In the unit of the axis' title.
    let unit = |axis: Axis, number: f64| match axis {
        Axis::Loss => number,
        Axis::Rtt => number * 1e3,
        Axis::Buffer => number / 1e6,
    };
    let tile = |tile: &crate::surface::Tile| Rectangle {
        x: (unit(surface.x, tile.x.0), unit(surface.x, tile.x.1)),
        y: (unit(surface.y, tile.y.0), unit(surface.y, tile.y.1)),
        goodput_bps: tile.measured.goodput_bps,
        hint: format!(
            "{} {}, {} {}: {}; {}",
            surface.x.name(),
            value(surface.x, surface.x.of(&tile.measured.point)),
            surface.y.name(),
            value(surface.y, surface.y.of(&tile.measured.point)),
            gbit(tile.measured.goodput_bps),
            tile.measured.limit
        ),
    };
    SurfaceFigure {
        title: format!(
            "Goodput of {}, {}, over {} and {}",
            surface.congestion,
            counted(surface.flows),
            surface.x.name(),
            surface.y.name()
        ),
        x: title(surface.x).into(),
        y: title(surface.y).into(),
        rate_bps: answer.question.rate.get() as f64,
        rectangles: surface.tiles.iter().map(tile).collect(),
    }
}

//! The page, in the look and with the script of the report.

use super::{ClaimRow, ClaimsPage, Outcome, figures};
use crate::figure::Figure;
use crate::html::data::PageData;
use crate::html::figures::frame;
use crate::html::{document, head};
use crate::number::MISSING;
use maud::{Markup, html};

pub(super) fn page(page: &ClaimsPage) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let facts = [counted(page.claims.len(), "claim"), counted(page.figures.len(), "figure")];
    let drawn: Vec<Figure> = page.figures.iter().flat_map(figures::draw).collect();
    let palette = figures::palette(&page.figures);
    let body = html! {
        (head(&page.name, &page.title, &facts))
        main {
            @for notice in &page.notices { p.warning { (notice) } }
            section #answer {
                h2 { "Does it come out again?" }
                @for line in &page.summary { p { (line) } }
            }
            (table(page))
            (explanations(page))
            @if !drawn.is_empty() {
                section #across {
                    h2 { "The study's figures" }
                    div.grid { @for figure in &drawn { (frame(figure, &palette, "study", true)) } }
                }
            }
            (study(page))
            @if !page.command.is_empty() {
                section #repeat {
                    h2 { "How to repeat it" }
                    pre.command { (page.command) }
                }
            }
        }
    };
    let data = PageData::new(&drawn, std::iter::empty(), &palette);
    document(&page.name, &Markup::default(), &body, &page.generated_by, &data)
}

fn table(page: &ClaimsPage) -> Markup {
    html! {
        section #claims {
            h2 { "Claims" }
            div.scroll {
                table.sortable {
                    thead {
                        tr {
                            @for name in
                                ["claim", "figure", "finding", "published", "kernel", "model", "verdict"]
                            {
                                th scope="col" { button type="button" { (name) } }
                            }
                        }
                    }
                    tbody { @for claim in &page.claims { (claim_row(claim)) } }
                }
            }
        }
    }
}

fn claim_row(claim: &ClaimRow) -> Markup {
    let marks = [(claim.own, "own reading"), (claim.calibration, "used for calibration")];
    html! {
        tr id=(claim.id) {
            td.wrap {
                (claim.id)
                @for (_, mark) in marks.iter().filter(|(is, _)| *is) { br; small { (mark) } }
            }
            td.wrap { (claim.figure) }
            td.wrap {
                (claim.finding)
                @if !claim.note.is_empty() { br; small { (claim.note) } }
            }
            td.wrap title=(claim.metric) { (claim.published) }
            @for measured in [&claim.kernel, &claim.model] { (measured_cell(measured.as_ref())) }
            td.wrap {
                (claim.verdict)
                @if !claim.explanation.is_empty() { " " a href={ "#why-" (claim.id) } { "why" } }
            }
        }
    }
}

fn measured_cell(measured: Option<&(String, Outcome)>) -> Markup {
    let Some((words, outcome)) = measured else {
        return html! { td { (MISSING) } };
    };
    html! {
        td.wrap {
            @match outcome {
                Outcome::Agrees => { span.pass { "✓" } " " },
                Outcome::Differs => { span.fail { "✗" } " " },
                Outcome::Drawn | Outcome::None => {},
            }
            @if words.is_empty() { (MISSING) } @else { (words) }
        }
    }
}

fn explanations(page: &ClaimsPage) -> Markup {
    let explained: Vec<&ClaimRow> =
        page.claims.iter().filter(|claim| !claim.explanation.is_empty()).collect();
    html! {
        @if !explained.is_empty() {
            section #why {
                h2 { "Explanations" }
                @for claim in explained {
                    p id={ "why-" (claim.id) } {
                        b { a href={ "#" (claim.id) } { (claim.id) } }
                        ". " (claim.explanation)
                    }
                }
            }
        }
    }
}

fn study(page: &ClaimsPage) -> Markup {
    html! {
        @if !page.built.is_empty() || !page.assumptions.is_empty() {
            section #study {
                h2 { "The study" }
                @if !page.reference.is_empty() { p { (page.reference) } }
                p { (page.built) }
                @if !page.assumptions.is_empty() {
                    h3 { "What it does not say, and was assumed" }
                    ul { @for line in &page.assumptions { li { (line) } } }
                }
            }
        }
    }
}

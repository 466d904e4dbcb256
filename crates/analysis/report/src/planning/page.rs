//! The page, in the look and with the script of the report.

use super::{PlanPage, Table, over_loss, surface};
use crate::figure::Figure;
use crate::html::data::PageData;
use crate::html::figures::frame;
use crate::html::{document, head};
use crate::palette::Palette;
use maud::{Markup, html};

/// The page of a plan.
pub fn page(plan: &PlanPage) -> String {
    let names = plan.curves.iter().map(|curve| (Some(curve.congestion.as_str()), curve.label.as_str()));
    let palette = Palette::new(names);
    let figures: Vec<Figure> =
        over_loss(&plan.curves).into_iter().chain(plan.surfaces.iter().map(surface::draw)).collect();
    let body = html! {
        (head("Plan", &plan.title, &plan.facts))
        main {
            section #answer {
                h2 { "What the path will give" }
                @for line in &plan.answer { p { (line) } }
            }
            @for of in &plan.tables { (table(of)) }
            @if !figures.is_empty() {
                section #across {
                    h2 { "Figures" }
                    div.grid { @for figure in &figures { (frame(figure, &palette, "study", true)) } }
                }
            }
            section #repeat {
                h2 { "How to repeat it" }
                pre.command { (plan.command) }
            }
        }
    };
    let data = PageData::new(&figures, std::iter::empty(), &palette);
    document(&format!("Plan: {}", plan.title), &Markup::default(), &body, &plan.generated_by, &data)
}

fn table(table: &Table) -> Markup {
    html! {
        section id=(table.id) {
            h2 { (table.title) }
            @if !table.note.is_empty() { p.hint { (table.note) } }
            div.scroll {
                table.sortable {
                    thead {
                        tr { @for name in &table.head { th scope="col" { button type="button" { (name) } } } }
                    }
                    tbody {
                        @for row in &table.rows { tr { @for cell in row { td.wrap { (cell) } } } }
                    }
                }
            }
        }
    }
}

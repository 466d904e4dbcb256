//! The page: one file, no network. Figures are data in it, drawn by the plotly.js it carries.
//!
//! Markup is made by templates (`maud`), which escape every value. `verbatim.rs` holds the exceptions.

pub(crate) mod data;
pub(crate) mod figures;
pub(crate) mod run;
pub(crate) mod tables;
mod verbatim;

use crate::answer;
use crate::characters::printable;
use crate::figure::Figure;
use crate::flow_groups;
use crate::palette::{colours, declarations};
use crate::report::Report;
use crate::sweep;
use data::PageData;
use maud::{DOCTYPE, Markup, html};
use std::collections::BTreeSet;
use std::sync::LazyLock;

const STYLE: &str = include_str!("../../assets/style.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// plotly.js, which the build compressed.
static PLOTLY: LazyLock<String> = LazyLock::new(|| {
    let compressed = include_bytes!(concat!(env!("OUT_DIR"), "/plotly.js.deflate"));
    let script = miniz_oxide::inflate::decompress_to_vec(compressed).expect("the build compressed it");
    String::from_utf8(script).expect("it was text")
});

/// With this the browser itself refuses to load anything from anywhere.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; connect-src data: blob:";

/// The whole page of a report.
pub(crate) fn page(report: &Report, above: &Markup) -> String {
    let body = html! {
        (header(report))
        main {
            (answer_section(&answer::sentences(report)))
            @for region in answer::validated_regions(report) { p.hint { (region) "." } }
            (tables::summary(report))
            (flow_groups::section(report))
            (sweep::page::sections(report))
            (tables::expectations(report))
            (incomplete(report))
            (figures::across(&report.figures, &report.palette))
            (run::section(report))
            (repeat_section(report))
        }
    };
    let runs = report.detailed().map(|run| run.figures.as_slice());
    let data = PageData::new(&report.figures, runs, &report.palette).with_summary(tables::on_demand(report));
    document(&report.study.name, above, &body, &report.study.generated_by, &data)
}

/// The page of the figures that requests ask for, across the runs of a report.
pub(crate) fn figures_page(report: &Report, figures: &[Figure], above: &Markup) -> String {
    let body = html! {
        (head(&report.study.name, &report.study.about, &[]))
        main { (figures::across(figures, &report.palette)) }
    };
    let data = PageData::new(figures, std::iter::empty(), &report.palette);
    document(&report.study.name, above, &body, &report.study.generated_by, &data)
}

/// The style of all pages: the colours of both themes and the look.
pub(crate) fn style() -> String {
    [&theme(), &inks(), STYLE].concat()
}

/// The text of every script of a page, in their order.
pub(crate) fn scripts() -> [&'static str; 2] {
    [PLOTLY.as_str(), SCRIPT]
}

/// A page of `body`, complete in itself. `above`: what stands over the body, such as the links of a program that serves the page;
/// empty in files. `data`: the figures that are to be drawn.
pub(crate) fn document(
    title: &str,
    above: &Markup,
    body: &Markup,
    generated_by: &str,
    data: &PageData,
) -> String {
    let style = style();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                // A browser asks a server for an icon if the page names none; the page of a file has no link at all.
                @if !above.0.is_empty() { link rel="icon" href="data:,"; }
                title { (printable(title)) " · wirespeed" }
                style { (verbatim::own(&style)) }
            }
            body {
                (verbatim::cleaned(above))
                (verbatim::cleaned(body))
                footer {
                    p { "Made by " (printable(generated_by)) ". This file is complete in itself: it loads nothing." }
                }
                noscript {
                    p.noscript { "The figures need JavaScript, which is in this file; the tables do not." }
                }
                script type="application/json" #data { (verbatim::json(data)) }
                script { (verbatim::own(&PLOTLY)) }
                script { (verbatim::own(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

fn theme() -> String {
    let (light, dark) = (declarations(false), declarations(true));
    format!(
        ":root{{color-scheme:light;{light}}}\n\
         @media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n\
         :root[data-theme=dark]{{color-scheme:dark;{dark}}}\n"
    )
}

/// The classes of drawings, as in SVG files, but in the colours of the theme.
fn inks() -> String {
    let class = |name: &str| {
        format!(".drawing .f-{name}{{fill:var(--{name})}}.drawing .s-{name}{{stroke:var(--{name})}}")
    };
    colours(false).iter().map(|(name, _)| class(name)).collect()
}

fn header(report: &Report) -> Markup {
    let runs = report.runs.len();
    let mut facts = vec![format!("{runs} run{}", if runs == 1 { "" } else { "s" })];
    if !report.incomplete.is_empty() {
        facts.push(format!("{} incomplete", report.incomplete.len()));
    }
    let substrates: BTreeSet<_> = report.runs.iter().map(|run| run.info.substrate).collect();
    facts.extend(substrates.iter().map(|substrate| format!("on {substrate}")));
    let mut kernels: Vec<&str> =
        report.runs.iter().filter_map(|run| run.info.kernel.as_ref().map(|k| k.release.as_str())).collect();
    kernels.sort_unstable();
    kernels.dedup();
    facts.extend(kernels.iter().map(|release| format!("Linux {release}")));
    let seconds: Vec<i64> = report.runs.iter().map(|run| run.info.duration_ns).collect();
    if let (Some(first), true) = (seconds.first(), seconds.windows(2).all(|w| w[0] == w[1])) {
        facts.push(format!("{} each", crate::number::with_unit(*first as f64, "ns")));
    }
    head(&report.study.name, &report.study.about, &facts)
}

/// Name, subtitle and a line of facts.
pub(crate) fn head(name: &str, about: &str, facts: &[String]) -> Markup {
    html! {
        header {
            div.bar {
                span.brand { "wirespeed" }
                button #theme type="button" aria-label="Switch between light and dark" { "Dark" }
            }
            h1 { (name) }
            p.about { (about) }
            ul.facts { @for fact in facts { li { (fact) } } }
        }
    }
}

/// The answer: its first sentence is read first.
pub(crate) fn answer_section(sentences: &[String]) -> Markup {
    let (first, rest) = sentences.split_first().map_or(("", &[][..]), |(f, r)| (f.as_str(), r));
    html! {
        section.answer {
            p.lead { (first) }
            @if !rest.is_empty() { p { (rest.join(" ")) } }
        }
    }
}

fn incomplete(report: &Report) -> Markup {
    html! {
        @if !report.incomplete.is_empty() {
            section {
                h2 { "Incomplete runs" }
                p.hint { "They are in no table and no figure. Running the study again completes them." }
                div.scroll {
                    table {
                        thead { tr { th { "Run" } th { "Why" } } }
                        tbody {
                            @for (id, reason) in &report.incomplete {
                                tr { td.name { (id) } td.wrap { (reason) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The command and the scenario that repeat the study.
fn repeat_section(report: &Report) -> Markup {
    let (command, scenario) = (&report.study.command, &report.study.scenario_text);
    html! {
        section #repeat {
            h2 { "How to repeat it" }
            @if !command.is_empty() {
                p { "The whole study:" }
                pre.command { (command) }
            }
            @if !scenario.is_empty() {
                details open[scenario.lines().count() <= 60] {
                    summary { "The scenario" }
                    pre { (scenario) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plotly_stands_alone_and_cannot_end_its_own_script() {
        assert!(PLOTLY.len() > 1_000_000 && PLOTLY.contains("plotly.js v"));
        assert!(
            !PLOTLY.contains("MathJax.loader") && !PLOTLY.contains("</script") && !PLOTLY.contains("<!--")
        );
        assert!(!SCRIPT.contains("</script") && !STYLE.contains("</style"));
    }

    #[test]
    fn text_cannot_leave_its_place() {
        let evil = "<a b='c' d=\"e\">&\u{1b}fdp.\u{202e}exe";
        let palette = crate::palette::Palette::default();
        let data = PageData::new(&[], std::iter::empty(), &palette);
        let page = document(evil, &Markup::default(), &html! { p title=(evil) { (evil) } }, evil, &data);
        let safe = "&lt;a b='c' d=&quot;e&quot;&gt;&amp; fdp. exe";
        assert!(page.contains(&format!("<p title=\"{safe}\">{safe}</p>")));
        assert!(page.contains(&format!("<title>{safe} · wirespeed</title>")));
        assert!(page.contains(&format!("<p>Made by {safe}. ")));
    }
}

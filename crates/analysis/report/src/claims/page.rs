//! The page, in the look and with the script of the report.

use super::{ClaimRow, ClaimsPage, Outcome, figures};
use crate::figure::Figure;
use crate::html::figures::{data, frame};
use crate::html::{document, escape, head};
use crate::number::MISSING;
use std::fmt::Write;

pub(super) fn page(page: &ClaimsPage) -> String {
    let mut out = String::with_capacity(1 << 18);
    let judged: Vec<&ClaimRow> = page.claims.iter().collect();
    let facts = [format!("{} claims", judged.len()), format!("{} figures", page.figures.len())];
    head(&mut out, &page.name, &page.title, &facts);
    out.push_str("<main>\n");
    for notice in &page.notices {
        let _ = write!(out, "<p class=\"warning\">{}</p>", escape(notice));
    }
    out.push_str("<section id=\"answer\"><h2>Does it come out again?</h2>");
    for line in &page.summary {
        let _ = write!(out, "<p>{}</p>", escape(line));
    }
    out.push_str("</section>\n");
    table(&mut out, page);
    explanations(&mut out, page);
    let drawn: Vec<Figure> = page.figures.iter().flat_map(figures::draw).collect();
    let palette = figures::palette(&page.figures);
    if !drawn.is_empty() {
        out.push_str("<section id=\"across\"><h2>The study's figures</h2><div class=\"grid\">");
        for figure in &drawn {
            frame(&mut out, figure, &palette, "study", true);
        }
        out.push_str("</div></section>\n");
    }
    study(&mut out, page);
    if !page.command.is_empty() {
        let _ = write!(
            out,
            "<section id=\"repeat\"><h2>How to repeat it</h2><pre class=\"command\">{}</pre></section>",
            escape(&page.command)
        );
    }
    out.push_str("</main>\n");
    let data = data(&drawn, std::iter::empty(), &palette);
    document(&page.name, &out, &page.generated_by, &data)
}

fn table(out: &mut String, page: &ClaimsPage) {
    out.push_str(
        "<section id=\"claims\"><h2>Claims</h2><div class=\"scroll\"><table class=\"sortable\"><thead><tr>",
    );
    for name in ["claim", "figure", "finding", "published", "kernel", "model", "verdict"] {
        let _ = write!(out, "<th scope=\"col\"><button type=\"button\">{name}</button></th>");
    }
    out.push_str("</tr></thead><tbody>");
    for claim in &page.claims {
        let marks = [(claim.own, "own reading"), (claim.calibration, "used for calibration")];
        let marks: String = marks
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, mark)| format!("<br><small>{mark}</small>"))
            .collect();
        let note = match claim.note.as_str() {
            "" => String::new(),
            note => format!("<br><small>{}</small>", escape(note)),
        };
        let _ = write!(
            out,
            "<tr id=\"{0}\"><td class=\"wrap\">{0}{marks}</td><td class=\"wrap\">{1}</td><td class=\"wrap\">{2}{note}</td><td class=\"wrap\" title=\"{3}\">{4}</td>",
            escape(&claim.id),
            escape(&claim.figure),
            escape(&claim.finding),
            escape(&claim.metric),
            escape(&claim.published)
        );
        for measured in [&claim.kernel, &claim.model] {
            measured_cell(out, measured.as_ref());
        }
        let why = match claim.explanation.as_str() {
            "" => String::new(),
            _ => format!(" <a href=\"#why-{}\">why</a>", escape(&claim.id)),
        };
        let _ = write!(out, "<td class=\"wrap\">{}{why}</td></tr>", escape(&claim.verdict));
    }
    out.push_str("</tbody></table></div></section>\n");
}

fn measured_cell(out: &mut String, measured: Option<&(String, Outcome)>) {
    let Some((words, outcome)) = measured else {
        let _ = write!(out, "<td>{MISSING}</td>");
        return;
    };
    let mark = match outcome {
        Outcome::Agrees => "<span class=\"pass\">✓</span> ",
        Outcome::Differs => "<span class=\"fail\">✗</span> ",
        Outcome::Drawn | Outcome::None => "",
    };
    let words = if words.is_empty() { MISSING } else { words };
    let _ = write!(out, "<td class=\"wrap\">{mark}{}</td>", escape(words));
}

fn explanations(out: &mut String, page: &ClaimsPage) {
    let explained: Vec<&ClaimRow> =
        page.claims.iter().filter(|claim| !claim.explanation.is_empty()).collect();
    if explained.is_empty() {
        return;
    }
    out.push_str("<section id=\"why\"><h2>Explanations</h2>");
    for claim in explained {
        let _ = write!(
            out,
            "<p id=\"why-{0}\"><b><a href=\"#{0}\">{0}</a></b>. {1}</p>",
            escape(&claim.id),
            escape(&claim.explanation)
        );
    }
    out.push_str("</section>\n");
}

fn study(out: &mut String, page: &ClaimsPage) {
    if page.built.is_empty() && page.assumptions.is_empty() {
        return;
    }
    out.push_str("<section id=\"study\"><h2>The study</h2>");
    if !page.reference.is_empty() {
        let _ = write!(out, "<p>{}</p>", escape(&page.reference));
    }
    let _ = write!(out, "<p>{}</p>", escape(&page.built));
    if !page.assumptions.is_empty() {
        out.push_str("<h3>What it does not say, and was assumed</h3><ul>");
        for line in &page.assumptions {
            let _ = write!(out, "<li>{}</li>", escape(line));
        }
        out.push_str("</ul>");
    }
    out.push_str("</section>\n");
}

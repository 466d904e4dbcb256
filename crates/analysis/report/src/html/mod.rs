//! The page: one file, no network. Figures are data in it, drawn by the plotly.js it carries.

pub(crate) mod figures;
pub(crate) mod run;
mod tables;

use crate::answer;
use crate::palette::{colours, declarations};
use crate::report::Report;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::LazyLock;
use wirespeed_record::is_command;

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
pub(crate) fn page(report: &Report) -> String {
    let mut body = String::with_capacity(1 << 20);
    header(&mut body, report);
    body.push_str("<main>\n");
    answer_section(&mut body, &answer::sentences(report));
    for region in answer::validated_regions(report) {
        let _ = writeln!(body, "<p class=\"hint\">{}.</p>", escape(&region));
    }
    tables::summary(&mut body, report);
    tables::expectations(&mut body, report);
    incomplete(&mut body, report);
    figures::across(&mut body, &report.figures, &report.palette);
    run::section(&mut body, report);
    repeat_section(&mut body, report);
    body.push_str("</main>\n");
    let runs = report.runs.iter().map(|run| run.figures.as_slice());
    let data = figures::data(&report.figures, runs, &report.palette);
    document(&report.study.name, &body, &report.study.generated_by, &data)
}

/// A page of `body`, complete in itself. `data`: the figures that are to be drawn.
pub(crate) fn document(title: &str, body: &str, generated_by: &str, data: &str) -> String {
    let mut out = String::with_capacity(PLOTLY.len() + body.len() + data.len() + (1 << 16));
    let title = escape(title);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} · wirespeed</title>\n<style>\n{}{}{STYLE}</style>\n</head>\n<body>\n",
        theme(),
        inks()
    );
    let _ = write!(
        out,
        "{body}<footer><p>Made by {}. This file is complete in itself: it loads nothing.</p></footer>\n\
         <noscript><p class=\"noscript\">The figures need JavaScript, which is in this file; the tables do not.</p></noscript>\n",
        escape(generated_by)
    );
    let _ = write!(out, "<script type=\"application/json\" id=\"data\">{data}</script>\n<script>");
    out.push_str(&PLOTLY);
    let _ = write!(out, "</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    out
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

fn header(out: &mut String, report: &Report) {
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
    head(out, &report.study.name, &report.study.about, &facts);
}

/// Name, subtitle and a line of facts.
pub(crate) fn head(out: &mut String, name: &str, about: &str, facts: &[String]) {
    let facts: String = facts.iter().map(|fact| format!("<li>{}</li>", escape(fact))).collect();
    let _ = write!(
        out,
        "<header><div class=\"bar\"><span class=\"brand\">wirespeed</span>\
         <button type=\"button\" id=\"theme\" aria-label=\"Switch between light and dark\">Dark</button></div>\n\
         <h1>{}</h1>\n<p class=\"about\">{}</p>\n<ul class=\"facts\">{facts}</ul></header>\n",
        escape(name),
        escape(about)
    );
}

/// The answer: its first sentence is read first.
pub(crate) fn answer_section(out: &mut String, sentences: &[String]) {
    let (first, rest) = sentences.split_first().map_or(("", &[][..]), |(f, r)| (f.as_str(), r));
    let _ = write!(out, "<section class=\"answer\"><p class=\"lead\">{}</p>", escape(first));
    if !rest.is_empty() {
        let _ = write!(out, "<p>{}</p>", escape(&rest.join(" ")));
    }
    out.push_str("</section>\n");
}

fn incomplete(out: &mut String, report: &Report) {
    if report.incomplete.is_empty() {
        return;
    }
    out.push_str("<section><h2>Incomplete runs</h2><p class=\"hint\">They are in no table and no figure. Running the study again completes them.</p><div class=\"scroll\"><table><thead><tr><th>Run</th><th>Why</th></tr></thead><tbody>");
    for (id, reason) in &report.incomplete {
        let _ = write!(
            out,
            "<tr><td class=\"name\">{}</td><td class=\"wrap\">{}</td></tr>",
            escape(id),
            escape(reason)
        );
    }
    out.push_str("</tbody></table></div></section>\n");
}

fn repeat_section(out: &mut String, report: &Report) {
    out.push_str("<section id=\"repeat\"><h2>How to repeat it</h2>");
    if !report.study.command.is_empty() {
        let _ = write!(
            out,
            "<p>The whole study:</p><pre class=\"command\">{}</pre>",
            escape(&report.study.command)
        );
    }
    if !report.study.scenario_text.is_empty() {
        let _ = write!(
            out,
            "<details{}><summary>The scenario</summary><pre>{}</pre></details>",
            if report.study.scenario_text.lines().count() <= 60 { " open" } else { "" },
            escape(&report.study.scenario_text)
        );
    }
    out.push_str("</section>\n");
}

/// Text for HTML and XML, in content and in quoted attributes. Characters that XML cannot hold become spaces.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if is_command(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
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
    fn escapes_what_could_leave_its_place() {
        assert_eq!(escape("<a b='c' d=\"e\">&\u{1b}"), "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp; ");
        assert_eq!(escape("fdp.\u{202e}exe"), "fdp. exe", "what turns the direction of writing");
    }
}

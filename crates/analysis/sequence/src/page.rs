//! The interactive page.

use crate::packed::pack;
use crate::{Direction, Subject};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;
use wirespeed_report::page_style;
use wirespeed_trace::text;

const SCRIPT: &str = concat!(
    include_str!("../assets/decode.js"),
    include_str!("../assets/draw.js"),
    include_str!("../assets/panels.js"),
    include_str!("../assets/words.js"),
    include_str!("../assets/page.js"),
);
const STYLE: &str = include_str!("../assets/time-sequence.css");
/// The page loads nothing. A picture of it is saved from a blob.
const POLICY: &str = concat!(
    "default-src 'none'; ",
    "script-src 'unsafe-inline'; ",
    "style-src 'unsafe-inline'; ",
    "img-src data: blob:"
);

/// The content of the page that is not points.
#[derive(Serialize)]
struct Data<T> {
    flows: Vec<T>,
}

/// The page of a connection, with both directions that have data. It loads nothing, and works from a file.
pub fn page(subject: &Subject<'_>) -> String {
    let directions = subject.directions();
    let (descriptions, packed): (Vec<_>, Vec<_>) = directions.iter().map(pack).unzip();
    let data = serde_json::to_string(&Data { flows: descriptions }).expect("columns are plain data");
    let capture = printable(subject.capture);
    let title = format!("{} and {}", subject.connection.client, subject.connection.server);
    let style = [page_style().as_str(), STYLE].concat();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                title { "Time-sequence graph of " (title) " · wirespeed" }
                style { (PreEscaped(style)) }
            }
            body {
                header {
                    div.bar {
                        span.brand { "wirespeed" }
                        button #theme type="button" aria-label="Switch between light and dark" { "Dark" }
                    }
                    h1 { "Time-sequence graph" }
                    p.about { (title) ", connection " (subject.connection.number) " of " (capture) }
                    (controls(&directions))
                }
                main {
                    p.warning #omitted hidden {}
                    (figure())
                    (help())
                    details { summary { "The connection in words" } pre { (printable(&text::connection(subject.connection))) } }
                }
                footer { p { "Made by " (printable(subject.generated_by)) ". This file is complete in itself: it loads nothing." } }
                // JSON has `<` only in strings, where its number is the same.
                script type="application/json" #description { (PreEscaped(data.replace('<', "\\u003c"))) }
                @for (number, text) in packed.iter().enumerate() {
                    script type="application/octet-stream" id=(format!("flow-{number}")) { (PreEscaped(text)) }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

fn controls(directions: &[Direction<'_>]) -> Markup {
    html! {
        div.controls {
            @if directions.len() > 1 {
                select #direction aria-label="Direction of the data" {
                    @for (number, direction) in directions.iter().enumerate() {
                        option value=(number) { "Data from " (direction.from) " to " (direction.to) }
                    }
                }
            } @else {
                @for direction in directions { span { "Data from " (direction.from) " to " (direction.to) } }
            }
            button #in type="button" { "Zoom in" }
            button #out type="button" { "Zoom out" }
            button #all type="button" { "Show all" }
            button #previous type="button" { "◀ Previous mark" }
            button #next type="button" { "Next mark ▶" }
            button #save type="button" { "Save as PNG" }
            span #status role="status" {}
        }
        div #legend role="group" aria-label="Marks in the figure" {}
    }
}

fn figure() -> Markup {
    html! {
        div #figure .figure tabindex="0" role="application"
            aria-label="Time-sequence graph. Arrow keys pan, plus and minus zoom, N and P go to the next and the previous mark." {
            canvas #canvas {}
            canvas #overlay {}
            div #tip hidden {}
            noscript {
                p.noscript { "The figure needs JavaScript, which is in this file. The text below does not." }
            }
        }
    }
}

fn help() -> Markup {
    let key = |name: &str| html! { kbd { (name) } };
    html! {
        details {
            summary { "How to use and read it" }
            p {
                "The wheel zooms at the pointer. A drag pans. " (key("Shift")) " and a drag zooms into a box, and "
                (key("Shift")) " and the wheel zoom the values of a panel. A double click shows all. The keys, after a click on the figure or "
                (key("Tab")) ": " (key("←")) " " (key("→")) " pan, " (key("+")) " " (key("-")) " zoom, " (key("↑")) " " (key("↓"))
                " zoom sequence numbers, " (key("n")) " " (key("p")) " go to the next and the previous mark, " (key("f"))
                " fits the values again, " (key("0")) " shows all. The address keeps the view, so that you can share a link to it."
            }
            ul {
                li { b { "Upright strokes" } " are data packets, from their first to their last sequence number." }
                li { b { "The lower line" } " is the acknowledgment number. Zoomed in, a tick downwards is an acknowledgment of new data. A tick upwards is a duplicate." }
                li { b { "The upper line" } " is the right edge of the receive window." }
                li { b { "R" } " is a retransmission, " b { "RTO" } " one by timeout, " b { "TLP" } " a tail loss probe. " b { "!" } " marks one that was not necessary." }
                li { b { "HD" } " is a hardware duplicate, " b { "D" } " a duplicate of the network, " b { "O" } " a reordered packet, " b { "L" } " one that was recorded late, " b { "P" } " a probe of a zero window or a keepalive." }
                li { b { "Z" } " is a zero window, " b { "◆" } " a packet with PSH. " b { "SYN, FIN, RST, CE, CWR, ECE, DSACK" } " are the flags and marks of these names." }
                li { "In the panel of windows, the shade marks rounds in which losses were repaired. The " b { "cwnd estimate" } " is the largest number of bytes in flight in each round. It is the congestion window where nothing else limits the flow." }
            }
        }
    }
}

/// Text without control characters.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
}

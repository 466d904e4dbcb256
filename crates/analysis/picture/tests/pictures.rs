//! Pictures of a document that has the parts of a figure: ground, axes, labels, a line, and a style for dark pages.

use lopdf::content::Content;
use lopdf::{Dictionary, Document, Object};
use std::collections::{BTreeMap, BTreeSet};
use wirespeed_picture::{DEFAULT_DPI, Feature, Painter, PictureError};

const SERIES: [u8; 3] = [213, 94, 0];

/// A figure of 920 x 300 pixels with `label` on its x axis.
fn figure(label: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 920 300\" width=\"920\" height=\"300\">\
         <style>text{{font-family:system-ui,sans-serif;font-size:12.5px}}.title{{font-size:17px;font-weight:600}}\
         .ground{{fill:#ffffff}}text{{fill:#1c2026}}.s-a1{{stroke:#d55e00}}.middle{{text-anchor:middle}}\
         @media (prefers-color-scheme:dark){{.ground{{fill:#181b21}}text{{fill:#e6e9ee}}}}</style>\
         <rect class=\"ground\" width=\"920\" height=\"300\"/>\
         <text class=\"title\" x=\"24\" y=\"30\">Goodput over loss</text>\
         <text class=\"middle\" x=\"460\" y=\"290\">{label}</text>\
         <text class=\"middle\" transform=\"translate(20 150) rotate(-90)\">Goodput (Gbit/s) ±µ·−→</text>\
         <path d=\"M70 250L890 60\" fill=\"none\" class=\"s-a1\" stroke-width=\"6\"/></svg>"
    )
}

/// Width, height and pixels of an RGB picture, and its pixels in a metre.
fn pixels(bytes: &[u8]) -> (u32, u32, Vec<[u8; 3]>, u32) {
    let mut reader = png::Decoder::new(bytes).read_info().expect("it is a PNG");
    let mut buffer = vec![0; reader.output_buffer_size()];
    let frame = reader.next_frame(&mut buffer).expect("it has pixels");
    assert_eq!((frame.color_type, frame.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
    let dimensions = reader.info().pixel_dims.expect("it states its resolution");
    assert_eq!(dimensions.unit, png::Unit::Meter);
    let colours = buffer[..frame.buffer_size()].chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect();
    (frame.width, frame.height, colours, dimensions.xppu)
}

fn follow<'a>(document: &'a Document, object: &'a Object) -> &'a Object {
    document.dereference(object).expect("references have a target").1
}

fn dictionary<'a>(document: &'a Document, parent: &'a Dictionary, key: &[u8]) -> &'a Dictionary {
    follow(document, parent.get(key).expect("the entry exists")).as_dict().expect("it is a dictionary")
}

/// The characters of the codes of a font, by its own table.
fn characters(document: &Document, font: &Dictionary) -> BTreeMap<u16, String> {
    let table = follow(document, font.get(b"ToUnicode").expect("text can be copied")).as_stream().unwrap();
    let table = String::from_utf8(table.decompressed_content().unwrap()).unwrap();
    let code = |text: &str| u16::from_str_radix(text.trim_matches(['<', '>']), 16).unwrap();
    let pair = |line: &str| {
        let (glyph, text) = line.split_once(' ')?;
        let units: Vec<u16> =
            (0..(text.len() - 2) / 4).map(|at| code(&text[at * 4 + 1..at * 4 + 5])).collect();
        Some((code(glyph), String::from_utf16(&units).unwrap()))
    };
    let lines = table.lines().skip_while(|line| !line.ends_with("beginbfchar")).skip(1);
    lines.take_while(|line| *line != "endbfchar").filter_map(pair).collect()
}

/// The texts of the only page, one for each operator.
fn texts(document: &Document) -> Vec<String> {
    let page = document.get_dictionary(document.get_pages()[&1]).unwrap();
    let fonts = dictionary(document, dictionary(document, page, b"Resources"), b"Font");
    let stream = follow(document, page.get(b"Contents").unwrap()).as_stream().unwrap();
    let operators = Content::decode(&stream.decompressed_content().unwrap()).unwrap().operations;
    let mut known = BTreeMap::new();
    let mut found = Vec::new();
    for operation in operators {
        match operation.operator.as_str() {
            "Tf" => {
                known = characters(
                    document,
                    dictionary(document, fonts, operation.operands[0].as_name().unwrap()),
                )
            }
            "TJ" => {
                let items = operation.operands[0].as_array().unwrap();
                let bytes: Vec<u8> =
                    items.iter().filter_map(|item| item.as_str().ok()).flatten().copied().collect();
                let codes = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
                found.push(codes.map(|code| known[&code].as_str()).collect());
            }
            _ => {}
        }
    }
    found
}

#[test]
fn png_has_the_requested_resolution_and_the_colours_of_a_light_page() {
    let picture = Painter::new().png(&figure("Loss (%)"), 192).unwrap();
    let (width, height, colours, resolution) = pixels(&picture.bytes);
    assert_eq!((width, height), (1840, 600));
    assert_eq!(resolution, 7559, "192 pixels an inch, in a metre");
    let share = |wanted: [u8; 3]| {
        colours.iter().filter(|colour| **colour == wanted).count() as f64 / colours.len() as f64
    };
    assert!(share([255; 3]) > 0.9, "the ground is white although a dark one is declared");
    // A line of 842 by 6 pixels on 920 by 300.
    assert!((0.015..0.02).contains(&share(SERIES)), "{}", share(SERIES));
    assert!(picture.missing.is_empty());
}

#[test]
fn png_has_text_in_all_three_labels() {
    let painter = Painter::new();
    let with_text = figure("Loss (%)");
    let without = |word: &str| painter.png(&with_text.replace(word, ""), DEFAULT_DPI).unwrap().bytes;
    let whole = painter.png(&with_text, DEFAULT_DPI).unwrap().bytes;
    let distinct: BTreeSet<Vec<u8>> = ["Goodput over loss", "Loss (%)", "Goodput (Gbit/s)"]
        .into_iter()
        .map(without)
        .chain([whole])
        .collect();
    assert_eq!(distinct.len(), 4, "each label has pixels of its own");
}

#[test]
fn font_weight_decides_the_face() {
    let painter = Painter::new();
    let bold = figure("Loss");
    let regular = bold.replace("font-weight:600", "font-weight:400");
    let ink = |svg: &str| {
        let (_, _, colours, _) = pixels(&painter.png(svg, 192).unwrap().bytes);
        colours.iter().filter(|colour| **colour == [28, 32, 38]).count()
    };
    assert!(ink(&bold) > ink(&regular) + 100, "{} and {}", ink(&bold), ink(&regular));
}

#[test]
fn pdf_has_title_and_labels_as_text_and_a_page_of_the_same_size() {
    let picture = Painter::new().pdf(&figure("Loss (%)"), "Goodput über loss").unwrap();
    let document = Document::load_mem(&picture.bytes).expect("it is a PDF");
    let pages = document.get_pages();
    assert_eq!(pages.len(), 1);
    let page = document.get_dictionary(pages[&1]).unwrap();
    let area: Vec<f32> =
        page.get(b"MediaBox").unwrap().as_array().unwrap().iter().map(|v| v.as_float().unwrap()).collect();
    assert_eq!(area, [0.0, 0.0, 690.0, 225.0], "points, of which a pixel has 0.75");
    assert_eq!(texts(&document), ["Goodput over loss", "Loss (%)", "Goodput (Gbit/s) ±µ·−→"]);
    let info = document.trailer.get(b"Info").map(|info| follow(&document, info).as_dict().unwrap()).unwrap();
    assert_eq!(lopdf::decode_text_string(info.get(b"Title").unwrap()).unwrap(), "Goodput über loss");
}

#[test]
fn pdf_embeds_the_used_part_of_the_fonts_and_no_picture() {
    let picture = Painter::new().pdf(&figure("Loss (%)"), "Goodput").unwrap();
    let document = Document::load_mem(&picture.bytes).unwrap();
    let dictionaries = || {
        let of = |object: &Object| object.as_dict().or(object.as_stream().map(|s| &s.dict)).ok().cloned();
        document.objects.values().filter_map(of)
    };
    let fonts: Vec<String> = dictionaries()
        .filter(|found| found.has(b"FontFile2"))
        .map(|found| String::from_utf8_lossy(found.get(b"FontName").unwrap().as_name().unwrap()).into_owned())
        .collect();
    assert_eq!(fonts.len(), 2, "{fonts:?}");
    assert!(fonts.iter().all(|name| name.contains("+Roboto-")), "the name of a part has a prefix: {fonts:?}");
    let is_image =
        |found: &Dictionary| found.get(b"Subtype").and_then(Object::as_name).is_ok_and(|n| n == b"Image");
    assert!(!dictionaries().any(|found| is_image(&found)), "lines are vectors");
    assert!(picture.bytes.len() < 30_000, "{} bytes", picture.bytes.len());
}

#[test]
fn pictures_have_the_same_bytes_each_time_and_no_date() {
    let draw = || {
        let painter = Painter::new();
        let svg = figure("Loss (%)");
        (painter.png(&svg, DEFAULT_DPI).unwrap(), painter.pdf(&svg, "Goodput").unwrap())
    };
    let (first, again) = (draw(), draw());
    assert!(first == again);
    for word in ["Date", "/ID"] {
        let found = first.1.bytes.windows(word.len()).any(|bytes| bytes == word.as_bytes());
        assert!(!found, "{word}");
    }
}

#[test]
fn missing_characters_are_reported_and_leave_a_box() {
    let painter = Painter::new();
    let (with, without) = (figure("速い"), figure(""));
    let picture = painter.png(&with, 96).unwrap();
    assert_eq!(picture.missing, BTreeSet::from(['速', 'い']));
    assert_ne!(picture.bytes, painter.png(&without, 96).unwrap().bytes);
    let pdf = painter.pdf(&with, "t").unwrap();
    assert_eq!(pdf.missing, BTreeSet::from(['速', 'い']));
    assert!(Document::load_mem(&pdf.bytes).is_ok());
}

#[test]
fn characters_of_figures_are_in_both_fonts() {
    let painter = Painter::new();
    let kept: String = (' '..='~').chain('\u{a1}'..='ſ').chain('Α'..='Ρ').chain('α'..='ω').collect();
    let signs = "–—‘’“”•…−≤≥≈≠∞√∑°²³±×·µ←↑→↓✓✗₀₉⁹";
    let all: String = (kept + signs).replace('&', "&amp;").replace('<', "&lt;");
    for weight in [400, 700] {
        let svg = figure(&all).replace("font-size:12.5px", &format!("font-weight:{weight}"));
        assert_eq!(painter.png(&svg, 96).unwrap().missing, BTreeSet::new(), "weight {weight}");
    }
}

#[test]
fn files_of_the_machine_are_not_read() {
    let folder = std::env::temp_dir().join(format!("wirespeed-picture-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("inner.svg");
    std::fs::write(&file, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"><rect width=\"9\" height=\"9\"/></svg>")
        .unwrap();
    let image = format!("<image href=\"{}\" width=\"400\" height=\"200\"/></svg>", file.display());
    let painter = Painter::new();
    let with = painter.png(&figure("x").replace("</svg>", &image), 96).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(with.bytes, painter.png(&figure("x"), 96).unwrap().bytes);
}

#[test]
fn impossible_pictures_are_errors() {
    let painter = Painter::new();
    assert!(matches!(painter.png("no document", 96), Err(PictureError::Document(_))));
    assert!(matches!(
        painter.pdf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"0\" height=\"9\"/>", "t"),
        Err(PictureError::Document(_))
    ));
    assert!(matches!(painter.png(&figure("x"), 0), Err(PictureError::Resolution(0))));
    let tall = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"100000\"/>";
    assert!(matches!(painter.png(tall, 960), Err(PictureError::Large { width: 1000, height: 1_000_000 })));
}

#[test]
fn unsupported_parts_of_svg_are_errors_in_pdf() {
    let refused = |part: &str| match Painter::new()
        .pdf(&figure("x").replace("</svg>", &format!("{part}</svg>")), "t")
    {
        Err(PictureError::Unsupported(feature)) => feature,
        other => panic!("{part}: {other:?}"),
    };
    let gradient = "<linearGradient id=\"g\"><stop stop-color=\"red\"/><stop offset=\"1\" stop-color=\"blue\"/></linearGradient>\
                    <rect width=\"9\" height=\"9\" fill=\"url(#g)\"/>";
    assert_eq!(refused(gradient), Feature::Gradient);
    assert_eq!(refused("<g opacity=\"0.5\"><rect width=\"9\" height=\"9\"/></g>"), Feature::GroupOpacity);
    let mask = "<mask id=\"m\"><rect width=\"9\" height=\"9\"/></mask><rect mask=\"url(#m)\" width=\"9\" height=\"9\"/>";
    assert_eq!(refused(mask), Feature::Mask);
}

#[test]
fn text_with_a_halo_is_in_the_pdf_once() {
    let svg = figure("x").replace(
        "</svg>",
        "<text x=\"99\" y=\"99\" style=\"paint-order:stroke;stroke:#fff;stroke-width:4px\">link</text></svg>",
    );
    let picture = Painter::new().pdf(&svg, "t").unwrap();
    let found = texts(&Document::load_mem(&picture.bytes).unwrap());
    assert_eq!(found.iter().filter(|text| *text == "link").count(), 1, "{found:?}");
}

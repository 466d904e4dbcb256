//! Converts SVG files: `cargo run -p wirespeed-picture --example convert -- OUT-FOLDER FILE.svg...`
use std::path::Path;
use wirespeed_picture::{DEFAULT_WIDTH, Painter};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let out = arguments.next().ok_or("give a folder and SVG files")?;
    let painter = Painter::new();
    for file in arguments {
        let svg = std::fs::read_to_string(&file)?;
        let stem = Path::new(&file).file_stem().ok_or("not a file")?.to_string_lossy().into_owned();
        std::fs::write(format!("{out}/{stem}.png"), painter.png(&svg, DEFAULT_WIDTH)?.bytes)?;
        std::fs::write(format!("{out}/{stem}.pdf"), painter.pdf(&svg, &stem)?.bytes)?;
    }
    Ok(())
}

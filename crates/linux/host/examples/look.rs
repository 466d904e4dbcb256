//! Prints what this host counts, or what a recorded one did, or records this one:
//! `cargo run -p wirespeed-host --example look -- [FOLDER | --from FOLDER]`.
#![allow(clippy::print_stdout, reason = "an example that prints")]

use std::path::Path;
use std::time::Instant;
use wirespeed_host::{Root, record_fixture, sources, take, take_of};

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut root = match &arguments[..] {
        [from, folder] if from == "--from" => Root::recorded(folder),
        _ => Root::live(),
    };
    if let [folder] = &arguments[..] {
        for what in record_fixture(&mut root, Path::new(folder))? {
            println!("{what}");
        }
        return Ok(());
    }
    for source in sources() {
        let begin = Instant::now();
        let (snapshot, _) = take_of(&mut root, &[*source]);
        println!("{:10} {:5} readings in {:?}", source.name(), snapshot.readings.len(), begin.elapsed());
    }
    let begin = Instant::now();
    let (snapshot, unavailable) = take(&mut root);
    let took = begin.elapsed();
    for reading in snapshot.readings.iter().filter(|reading| reading.value != 0) {
        let stage = reading.sense.stage.map_or("-", |stage| stage.word());
        let duplicate_of = reading.duplicate_of.as_deref().unwrap_or("");
        let meaning = reading.sense.meaning;
        println!(
            "{:10} {:40} {:34} {:16} {stage:16} {meaning} {} {duplicate_of}",
            reading.source, reading.place, reading.counter, reading.value, reading.sense.unit
        );
    }
    for what in unavailable {
        println!("unavailable: {what}");
    }
    println!("{} readings in {took:?}", snapshot.readings.len());
    Ok(())
}

//! Import of any bytes, shared with the fuzz target `exchange`.

use wirespeed_exchange::{Content, Source, exports, recording};

/// Imports, checks that times and counts are those of a run, and exports again.
pub fn import(bytes: Vec<u8>) {
    let Ok(content) = Content::new(bytes) else { return };
    let Ok(run) = recording(&[Source { name: "x".into(), content }]) else { return };
    assert!(
        run.info.duration_ns >= 0 && (0..=run.info.duration_ns).contains(&run.info.omit_ns),
        "{:?}",
        run.info
    );
    for row in &run.flows {
        assert!((row.flow as usize) < run.info.flows.len() && (0..=run.info.duration_ns).contains(&row.t_ns));
        assert!(row.delivered_bytes.is_none_or(|bytes| bytes < 1 << 62), "{row:?}");
    }
    for format in exports() {
        let Ok(files) = format.plan(&run) else { continue };
        for file in files {
            file.write(&mut std::io::sink()).unwrap();
        }
    }
}

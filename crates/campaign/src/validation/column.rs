//! The columns in which factors stand: how a value is shown.

/// A column of the grid's files.
#[derive(Debug)]
pub struct Column {
    /// Its name in files.
    pub name: &'static str,
    /// What a title shows of a value.
    pub title: fn(&str) -> String,
    /// What a table by level shows of it, where a title would be ambiguous.
    pub level: fn(&str) -> String,
}

/// Every column that a section may use.
pub static COLUMNS: [Column; 11] = [
    column("congestion", str::to_owned),
    Column { name: "beside", title: |v| format!("bbr beside {v}"), level: str::to_owned },
    column("rtt_ms", |v| format!("{v} ms")),
    column("rate_gbit", |v| format!("{v} Gbit/s")),
    column("loss", |v| format!("loss {v}")),
    Column { name: "buffer_bdp", title: |v| format!("{v} bdp"), level: |v| format!("buffer {v} bdp") },
    column("flows", |v| if v == "1" { "1 flow".into() } else { format!("{v} flows") }),
    column("mtu", |v| format!("MTU {v}")),
    column("qdisc", str::to_owned),
    column("txqueuelen", |v| format!("txqueuelen {v}")),
    column("offloads", |v| format!("offloads {v}")),
];

const fn column(name: &'static str, show: fn(&str) -> String) -> Column {
    Column { name, title: show, level: show }
}

/// The column of that name.
///
/// # Panics
/// If there is none: a section names a column that [`COLUMNS`] lacks.
pub fn named(name: &str) -> &'static Column {
    COLUMNS.iter().find(|column| column.name == name).unwrap_or_else(|| panic!("no column {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_says_of_which_factor_it_is() {
        assert_eq!((named("buffer_bdp").title)("0.1"), "0.1 bdp");
        assert_eq!((named("buffer_bdp").level)("0.1"), "buffer 0.1 bdp");
        assert_eq!((named("flows").level)("1"), "1 flow");
    }
}

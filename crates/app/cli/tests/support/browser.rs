//! Pages in a real browser without a window.

use std::process::Command;

/// The browser of this machine, if it has one.
pub fn browser() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()))
}

/// The document of a page after its scripts have run for six virtual seconds. They may not have printed an error.
pub fn document(browser: &str, url: &str) -> String {
    document_after(browser, url, 6_000)
}

/// The same after so many virtual milliseconds.
pub fn document_after(browser: &str, url: &str, milliseconds: u32) -> String {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--disable-gpu",
            "--no-sandbox",
            "--enable-logging=stderr",
            "--window-size=1280,6000",
            "--dump-dom",
        ])
        .arg(format!("--virtual-time-budget={milliseconds}"))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(url)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    let console: Vec<&str> = printed.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "{url}: {}", console.join("\n"));
    String::from_utf8(output.stdout).unwrap()
}

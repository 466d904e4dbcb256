//! The server as a program without a browser sees it.

mod support;

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use support::{Served, mark, read_only, study, write_run};

#[test]
fn list_has_each_run_with_its_status_and_reason() {
    let folder = study();
    let runs = folder.path().join("runs");
    mark(&runs.join("congestion=vegas,r0"), "the kernel did not start");
    std::fs::create_dir(runs.join("something")).unwrap();
    write_run(folder.path(), "reno", 0, 500_000_000);
    let damaged = runs.join("congestion=reno,r0");
    std::fs::write(damaged.join("flows.parquet"), "no table").unwrap();
    let newer = runs.join("congestion=new,r0");
    std::fs::create_dir(&newer).unwrap();
    std::fs::write(newer.join("run.json"), r#"{"format_version": 99}"#).unwrap();
    let served = Served::new(folder.path());
    let list = served.runs();
    let of = |id: &str| list["runs"].as_array().unwrap().iter().find(|run| run[0] == id).unwrap().clone();
    assert_eq!(list["studies"][0], "steady");
    assert_eq!(list["factors"][0]["head"], "congestion");
    assert_eq!(
        list["factors"][0]["levels"],
        serde_json::json!(["bic", "cubic"]),
        "only runs that can be read have factors"
    );
    let goodput =
        list["metrics"].as_array().unwrap().iter().position(|m| m["name"] == "goodput_bps").unwrap();
    let bic = of("congestion=bic,r0");
    assert_eq!(bic[1], "complete");
    let rate = bic[7][goodput].as_f64().unwrap();
    assert!((rate - 8e8).abs() < 1e7, "{rate}");
    let reason = |id: &str| of(id)[2].as_str().unwrap().to_owned();
    assert_eq!(
        (of("congestion=vegas,r0")[1].as_str(), &*reason("congestion=vegas,r0")),
        (Some("incomplete"), "the kernel did not start")
    );
    assert_eq!(of("congestion=reno,r0")[1], "damaged");
    assert!(reason("congestion=reno,r0").starts_with("flows.parquet: "), "{}", reason("congestion=reno,r0"));
    assert_eq!(
        (of("something")[1].as_str(), &*reason("something")),
        (Some("foreign"), "the directory has no run.json")
    );
    assert_eq!(of("congestion=new,r0")[1], "newer");
    // None of them ends the server, or keeps its report away.
    assert_eq!(served.get("/report").status, 200);
    assert_eq!(served.get("/run/congestion%3Dreno%2Cr0").status, 409);
    assert_eq!(served.get("/run/congestion=bic,r0").status, 200);
}

#[test]
fn every_page_answers_with_the_policy_of_its_kind() {
    let folder = study();
    let served = Served::new(folder.path());
    served.runs();
    let own = "script-src 'self'";
    let report = "script-src 'sha256-";
    for (target, policy, words) in [
        ("/", own, "<table id=\"runs\">"),
        ("/progress", own, "<progress"),
        ("/compare", own, "<datalist"),
        ("/run/congestion=bic,r0", report, "Content-Security-Policy"),
        ("/report", report, "<nav class=\"site\""),
        ("/figure?kind=box", report, "data-figure="),
        ("/compare?a=congestion%3Dbic&b=congestion%3Dcubic", report, "Goodput"),
        ("/compare?a=congestion%3Dbic%2Cr0&b=congestion%3Dbic%2Cr1", report, "congestion=bic,r1"),
    ] {
        let answer = served.get(target);
        assert_eq!(answer.status, 200, "{target}: {}", answer.body);
        assert!(answer.body.contains(words), "{target} has no {words}");
        let sent = answer.field("content-security-policy").unwrap();
        assert!(sent.contains(policy) && sent.contains("default-src 'none'"), "{target}: {sent}");
        assert!(!sent.contains("http"), "{target}: {sent}");
        assert_eq!(answer.field("x-content-type-options"), Some("nosniff"), "{target}");
        assert_eq!(answer.field("cache-control"), Some("no-store"), "{target}");
        assert!(!answer.body.contains("http://") || answer.body.contains("http://www.w3.org"), "{target}");
    }
    let svg = served.get("/figure?kind=box&format=svg");
    assert_eq!((svg.status, svg.field("content-type")), (200, Some("image/svg+xml")));
    assert!(svg.body.starts_with("<svg"), "{}", &svg.body[..80]);
    assert_eq!(served.get("/figure?kind=box&format=svg&panel=9").status, 404);
}

#[test]
fn playground_alone_may_compile_a_module_and_start_a_worker() {
    let folder = study();
    let page = folder.path().join("page.html");
    std::fs::write(&page, "<title>wirespeed playground</title><script>one()</script><script>two()</script>")
        .unwrap();
    let served = Served::with_playground(folder.path(), &page);
    let answer = served.get("/playground");
    assert_eq!((answer.status, answer.field("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(answer.body.ends_with("<script>two()</script>"), "{}", answer.body);
    let sent = answer.field("content-security-policy").unwrap();
    let part = |name: &str| sent.split("; ").find_map(|part| part.strip_prefix(name)).unwrap_or_default();
    let scripts: Vec<&str> = part("script-src ").split(' ').collect();
    assert_eq!(scripts.len(), 3, "a checksum for each of the two scripts, and the module: {sent}");
    // openssl dgst -sha256 -binary | base64, of `one()`.
    assert_eq!(scripts[0], "'sha256-HR7iaask9daLMRRskMI++QeJtjWDOjyPA6lGzYGzKW4='");
    assert_eq!((scripts[2], part("worker-src ")), ("'wasm-unsafe-eval'", "blob:"));
    assert!(sent.starts_with("default-src 'none'") && !sent.contains("http"), "{sent}");
    for target in ["/", "/report", "/compare", "/nothing"] {
        let answer = served.get(target);
        let sent = answer.field("content-security-policy").unwrap();
        assert!(!sent.contains("wasm") && !sent.contains("worker"), "{target}: {sent}");
    }
    assert!(served.get("/").body.contains("href=\"/playground\""));
}

#[test]
fn server_without_a_playground_says_how_to_get_one() {
    let folder = study();
    let served = Served::new(folder.path());
    let answer = served.get("/playground");
    assert_eq!(answer.status, 404);
    assert!(
        answer.body.contains("make playground") && answer.body.contains("--playground FILE"),
        "{}",
        answer.body
    );
    assert!(!served.get("/").body.contains("/playground"));
}

#[test]
fn mistakes_in_addresses_are_explained() {
    let folder = study();
    let served = Served::new(folder.path());
    served.runs();
    for (target, status, words) in [
        ("/nothing", 404, "There is no such page"),
        ("/run/congestion=bic,r9", 404, "no run congestion=bic,r9"),
        ("/figure?kind=pie", 400, "The kinds are line"),
        ("/figure?metric=speed", 400, "There is no metric speed."),
        ("/compare?a=congestion%3Dbic&b=nobody", 404, "nobody cannot be compared"),
        ("/compare?a=congestion%3Dbic&b=congestion%3Dbic", 400, "There is nothing to compare"),
        ("/run/%3Cscript%3Ealert(1)%3C%2Fscript%3E", 400, "not valid"),
        ("/run/%3Cscript%3E", 404, "&lt;script&gt;"),
    ] {
        let answer = served.get(target);
        assert_eq!(answer.status, status, "{target}: {}", answer.body);
        assert!(answer.body.contains(words), "{target}: {}", answer.body);
        assert!(!answer.body.contains("<script>"), "{target}");
    }
}

#[test]
fn path_outside_of_the_folder_is_never_read() {
    let folder = study();
    std::fs::write(folder.path().join("secret"), "PRIVATE").unwrap();
    let served = Served::new(&folder.path().join("runs"));
    for target in [
        "/../secret",
        "/run/../../secret",
        "/run/..",
        "/run/%2e%2e",
        "/run/%2e%2e%2fsecret",
        "/run/..%5csecret",
        "/run//etc/passwd",
        "/assets/../secret",
        "/assets/%2e%2e%2f%2e%2e%2fCargo.toml",
        "//secret",
        "/folder/../secret",
    ] {
        let answer = served.get(target);
        assert!([400, 404].contains(&answer.status), "{target}: {}", answer.status);
        assert!(!answer.body.contains("PRIVATE") && !answer.body.contains("root:"), "{target}");
    }
}

#[test]
fn other_hosts_methods_and_sites_are_rejected() {
    let folder = study();
    let served = Served::new(folder.path());
    let port = served.port;
    let status = |request: String| served.send(request.as_bytes()).status;
    for host in [
        "evil.example".into(),
        format!("evil.example:{port}"),
        "127.0.0.1:1".into(),
        format!("10.0.0.1:{port}"),
    ] {
        assert_eq!(status(format!("GET /api/runs HTTP/1.1\r\nHost: {host}\r\n\r\n")), 421, "{host}");
    }
    assert_eq!(status("GET / HTTP/1.1\r\n\r\n".into()), 421);
    assert_eq!(
        status(format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nHost: evil.example\r\n\r\n")),
        421
    );
    for host in [format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        assert_eq!(status(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")), 200, "{host}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"] {
        let answer = served.send(
            format!("{method} / HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: 0\r\n\r\n").as_bytes(),
        );
        assert_eq!((answer.status, answer.field("allow")), (405, Some("GET, HEAD")), "{method}");
    }
    let body = format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(status(body), 413);
    let from = |site: &str, mode: &str| {
        status(format!(
            "GET /api/runs HTTP/1.1\r\nHost: localhost:{port}\r\nSec-Fetch-Site: {site}\r\nSec-Fetch-Mode: {mode}\r\n\r\n"
        ))
    };
    assert_eq!([from("cross-site", "no-cors"), from("same-site", "cors")], [403, 403]);
    assert_eq!(
        [from("same-origin", "cors"), from("none", "navigate"), from("cross-site", "navigate")],
        [200, 200, 200]
    );
    let head = served.send(format!("HEAD / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n").as_bytes());
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert!(head.field("content-length").unwrap().parse::<usize>().unwrap() > 0);
}

#[test]
fn huge_requests_and_garbage_are_rejected() {
    let folder = study();
    let served = Served::new(folder.path());
    let huge = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(1 << 20));
    assert_eq!(served.send(huge.as_bytes()).status, 431);
    let many: String = (0..200).map(|i| format!("X-{i}: 1\r\n")).collect();
    assert_eq!(served.send(format!("GET / HTTP/1.1\r\n{many}\r\n").as_bytes()).status, 431);
    assert_eq!(served.send(b"\x16\x03\x01 not HTTP at all\r\n\r\n").status, 400);
    assert_eq!(served.get("/").status, 200);
}

#[test]
fn clients_that_send_nothing_do_not_keep_others_away() {
    let folder = study();
    let served = Served::new(folder.path());
    // More than there are threads: each is sent away when its time is over.
    let mut silent: Vec<TcpStream> = (0..20).map(|_| served.connect()).collect();
    for stream in &mut silent {
        stream.write_all(b"GET / HT").unwrap();
    }
    assert_eq!(served.get("/").status, 200);
    let mut first = silent.remove(0);
    assert_eq!(support::answer(&mut first).status, 408);
}

#[test]
fn fifty_requests_at_once_are_all_answered() {
    let folder = study();
    let served = Served::new(folder.path());
    served.runs();
    let targets = ["/", "/api/runs", "/api/progress", "/run/congestion=bic,r0", "/assets/style.css"];
    let statuses: Vec<u16> = thread::scope(|scope| {
        let requests: Vec<_> = (0..50)
            .map(|i| {
                scope.spawn({
                    let served = &served;
                    move || served.get(targets[i % targets.len()]).status
                })
            })
            .collect();
        requests.into_iter().map(|request| request.join().unwrap()).collect()
    });
    assert_eq!(statuses, [200; 50]);
}

#[test]
fn runs_that_come_and_go_are_seen_without_reading_the_others_again() {
    let folder = study();
    let served = Served::new(folder.path());
    let before = served.runs();
    assert_eq!(before["runs"].as_array().unwrap().len(), 4);
    let unchanged = served.json(&format!("/api/runs?since={}", before["generation"]));
    assert_eq!(unchanged["unchanged"], true);
    assert_eq!(served.get("/report").status, 200);
    write_run(folder.path(), "reno", 0, 500_000_000);
    served.until("the new run is in the list", || served.runs()["runs"].as_array().unwrap().len() == 5);
    assert!(served.get("/report").body.contains("congestion=reno,r0"));
    std::fs::remove_dir_all(folder.path().join("runs/congestion=reno,r0")).unwrap();
    served.until("the run is gone", || served.runs()["runs"].as_array().unwrap().len() == 4);
    assert_eq!(served.get("/run/congestion=reno,r0").status, 404);
}

#[test]
fn numbers_of_a_summary_are_used_until_the_run_changes() {
    let folder = study();
    let served = Served::new(folder.path());
    let measured = served.runs()["runs"].clone();
    drop(served);
    support::write_summary(folder.path());
    let served = Served::new(folder.path());
    assert_eq!(served.runs()["runs"], measured);
    // The tables are compared with their checksums afterwards, although the summary has the numbers.
    std::fs::write(folder.path().join("runs/congestion=bic,r1/flows.parquet"), "no table").unwrap();
    let served = Served::new(folder.path());
    served.until("the damage is found", || served.runs()["runs"][1][1] == "damaged");
}

#[test]
fn progress_has_the_states_of_the_workers() {
    let folder = study();
    let served = Served::new(folder.path());
    assert_eq!(served.json("/api/progress")["workers"], serde_json::json!([]));
    let campaign = folder.path().join("campaign");
    std::fs::create_dir(&campaign).unwrap();
    let worker = |name: &str, done: usize, left: Option<f64>| {
        serde_json::json!({
            "worker": name, "host": "lab", "pid": 7, "started": "2026-01-01T00:00:00Z", "updated": "2026-01-01T00:01:00Z",
            "is_over": false, "total": 10, "done": done, "kept": 1, "failed": 1, "failures": ["a: no"], "running": ["b"], "left_s": left,
        })
    };
    std::fs::write(campaign.join("w1.json"), worker("w1", 2, Some(90.0)).to_string()).unwrap();
    std::fs::write(campaign.join("w2.json"), worker("w2", 3, Some(30.0)).to_string()).unwrap();
    std::fs::write(campaign.join("w3.json"), "{").unwrap();
    let progress = served.json("/api/progress");
    let numbers = ["total", "done", "kept", "failed", "running"].map(|key| progress[key].as_u64().unwrap());
    assert_eq!(numbers, [20, 5, 2, 2, 2]);
    assert_eq!((progress["left_s"].as_f64(), progress["is_over"].as_bool()), (Some(90.0), Some(false)));
    assert_eq!(progress["damaged"].as_array().unwrap().len(), 1);
}

#[test]
fn folder_of_several_has_a_page_for_each() {
    let folder = tempfile::tempdir().unwrap();
    write_run(&folder.path().join("before it"), "bic", 0, 800_000_000);
    write_run(&folder.path().join("after"), "bic", 0, 700_000_000);
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let served = Served::new(folder.path());
    let page = served.get("/");
    assert!(page.body.contains("href=\"/folder/before%20it/\""), "{}", page.body);
    assert!(!page.body.contains("empty"), "{}", page.body);
    served.until("its runs are read", || {
        served.json("/folder/before%20it/api/runs")["runs"].as_array().unwrap().len() == 1
    });
    assert!(served.get("/folder/after/").body.contains("All folders"));
    assert_eq!(served.get("/folder/before%20it/run/congestion=bic,r0").status, 200);
    assert_eq!(
        [served.get("/folder/empty/").status, served.get("/run/congestion=bic,r0").status],
        [404, 404]
    );
}

#[test]
fn nothing_is_written_into_a_folder_that_may_not_be_written() {
    let folder = study();
    let before = support::files(folder.path());
    read_only(folder.path(), true);
    {
        let served = Served::new(folder.path());
        served.runs();
        for target in [
            "/",
            "/report",
            "/figure?kind=box",
            "/run/congestion=bic,r0",
            "/compare?a=congestion%3Dbic&b=congestion%3Dcubic",
        ] {
            assert_eq!(served.get(target).status, 200, "{target}");
        }
    }
    read_only(folder.path(), false);
    assert_eq!(support::files(folder.path()), before);
}

#[test]
fn folder_without_results_and_a_port_in_use_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let error = |folder: &std::path::Path, port| {
        wirespeed_serve::Server::new(folder, port, "test").unwrap_err().to_string()
    };
    assert!(error(folder.path(), None).ends_with(" has no runs"));
    assert!(error(&folder.path().join("gone"), None).contains("cannot list "));
    let other = study();
    let served = Served::new(other.path());
    assert_eq!(error(other.path(), Some(served.port)), format!("port {} is in use", served.port));
}

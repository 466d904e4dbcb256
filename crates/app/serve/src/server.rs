//! The server: its listeners, its threads and its end.

use crate::http::Pool;
use crate::playground::Playground;
use crate::router::{Shown, answer};
use crate::site::Site;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use thiserror::Error;

/// Why a folder cannot be served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The folder is missing, or may not be listed.
    #[error("cannot list {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// It has neither runs nor folders of results.
    #[error("{} has no runs", path.display())]
    NoRuns {
        /// The folder.
        path: PathBuf,
    },
    /// Another program listens on the port.
    #[error("port {port} is in use")]
    PortInUse {
        /// The port.
        port: u16,
    },
    /// The port cannot be opened for another reason.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address and the port.
        address: SocketAddr,
        /// The operating system's reason.
        source: io::Error,
    },
}

/// A server over a folder of results, or over a folder of such folders. It listens on loopback only: the addresses are constants.
#[derive(Debug)]
pub struct Server {
    shown: Shown,
    listeners: Vec<TcpListener>,
    port: u16,
}

impl Server {
    /// For the results in `folder`, on `port` of 127.0.0.1 and, if this machine has IPv6, of ::1. Without a port, a free one is
    /// taken. `generated_by` is the program and its version, which pages state.
    ///
    /// # Errors
    /// If the folder has no results, or the port cannot be opened.
    pub fn new(folder: &Path, port: Option<u16>, generated_by: &str) -> Result<Server, ServeError> {
        let site = Site::open(folder, generated_by)?;
        let (listeners, port) = listen(port.unwrap_or(0))?;
        Ok(Server { shown: Shown { site, playground: None }, listeners, port })
    }

    /// Offers a playground at `/playground`.
    #[must_use]
    pub fn with_playground(mut self, playground: Playground) -> Server {
        self.shown.playground = Some(playground);
        self
    }

    /// The port, from 1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of its first page.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Answers requests until `stop` is set. It ends within a second then, unless a page is being made.
    pub fn run(&self, stop: &AtomicBool) {
        const PAUSE: Duration = Duration::from_millis(50);
        let is_over = AtomicBool::new(false);
        let pool = Pool::new();
        std::thread::scope(|scope| {
            scope.spawn(|| self.shown.site.keep_current(&is_over));
            for _ in 0..Pool::threads() {
                scope.spawn(|| {
                    pool.work(&|| is_over.load(SeqCst), &|request| answer(&self.shown, self.port, request));
                });
            }
            for listener in &self.listeners {
                scope.spawn(|| accept(listener, &pool, &is_over));
            }
            while !stop.load(SeqCst) {
                std::thread::sleep(PAUSE);
            }
            is_over.store(true, SeqCst);
            self.shown.site.folders().iter().for_each(|folder| folder.study.end());
            for listener in &self.listeners {
                // A connection wakes the thread that waits for one.
                let _ = listener.local_addr().and_then(TcpStream::connect);
            }
        });
    }
}

fn accept(listener: &TcpListener, pool: &Pool, is_over: &AtomicBool) {
    /// After an error, such as too many open files: the next attempt would fail as well.
    const PAUSE: Duration = Duration::from_millis(50);
    while !is_over.load(SeqCst) {
        match listener.accept() {
            Ok((stream, _)) => pool.hand_over(stream),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// Listens on both addresses of loopback, on the same port. 0 stands for a free one.
fn listen(port: u16) -> Result<(Vec<TcpListener>, u16), ServeError> {
    /// A port that is free for IPv4 may be in use for IPv6; another one is tried then.
    const ATTEMPTS: u32 = 16;
    let mut attempt = 1;
    loop {
        let v4 = bind(Ipv4Addr::LOCALHOST.into(), port)?;
        let address = v4.local_addr();
        let taken = address
            .map_err(|source| ServeError::Listen { address: (Ipv4Addr::LOCALHOST, port).into(), source })?
            .port();
        match bind(Ipv6Addr::LOCALHOST.into(), taken) {
            Ok(v6) => return Ok((vec![v4, v6], taken)),
            Err(ServeError::PortInUse { .. }) if port == 0 && attempt < ATTEMPTS => attempt += 1,
            Err(error @ ServeError::PortInUse { .. }) => return Err(error),
            // This machine has no IPv6.
            Err(_) => return Ok((vec![v4], taken)),
        }
    }
}

fn bind(address: IpAddr, port: u16) -> Result<TcpListener, ServeError> {
    let address = SocketAddr::new(address, port);
    TcpListener::bind(address).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ServeError::PortInUse { port },
        _ => ServeError::Listen { address, source },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listener_is_on_loopback_and_on_one_port() {
        let (listeners, port) = listen(0).unwrap();
        for listener in &listeners {
            let address = listener.local_addr().unwrap();
            assert!(address.ip().is_loopback() && address.port() == port, "{address}");
        }
        assert!(matches!(listen(port), Err(ServeError::PortInUse { port: used }) if used == port));
    }
}

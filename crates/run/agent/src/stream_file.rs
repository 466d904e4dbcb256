//! The file with the stream. In a guest it is written at once, for what has left the guest is all that anybody sees of it; on
//! a real machine by a thread of its own, for who measures must not wait for a disk.

use super::message::Writer;
use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use wirespeed_topology::world::Ground;

/// Takes what is written; a thread writes it.
pub struct Background {
    pieces: Sender<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
}

impl Background {
    /// Writes to `file` from now on.
    pub fn new(mut file: File) -> Background {
        let (pieces, written) = channel::<Vec<u8>>();
        let thread = thread::spawn(move || written.into_iter().try_for_each(|piece| file.write_all(&piece)));
        Background { pieces, thread }
    }

    /// Waits until everything is written.
    ///
    /// # Errors
    /// Of any piece.
    pub fn finish(self) -> io::Result<()> {
        drop(self.pieces);
        self.thread.join().map_err(|_| io::Error::other("the thread that writes failed"))?
    }
}

impl Write for Background {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The thread ends only if it cannot write; why is told when it is joined.
        let gone = || io::Error::new(io::ErrorKind::StorageFull, "the results cannot be written");
        self.pieces.send(bytes.to_vec()).map(|()| bytes.len()).map_err(|_| gone())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where the stream goes.
pub enum Out {
    /// Out of a guest.
    Guest(File),
    /// To a disk of this machine.
    Machine(Background),
}

impl Out {
    /// What `ground` wants.
    pub fn of(ground: Ground, file: File) -> Out {
        match ground {
            Ground::Guest => Out::Guest(file),
            Ground::Machine => Out::Machine(Background::new(file)),
        }
    }

    fn inner(&mut self) -> &mut dyn Write {
        match self {
            Out::Guest(file) => file,
            Out::Machine(background) => background,
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner().flush()
    }
}

impl Writer<Out> {
    /// Hands over what there is; returns when it has left the guest.
    ///
    /// # Errors
    /// As the file.
    pub fn report(&mut self) -> io::Result<()> {
        self.flush()?;
        match self.get_mut() {
            Out::Guest(file) => file.sync_data(),
            Out::Machine(_) => Ok(()),
        }
    }

    /// Waits until everything is in the file.
    ///
    /// # Errors
    /// As the file.
    pub fn finish(mut self) -> io::Result<()> {
        self.report()?;
        match self.into_inner() {
            Out::Guest(_) => Ok(()),
            Out::Machine(background) => background.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_data_are_in_the_file_at_the_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut background = Background::new(file.reopen().unwrap());
        for number in 0..1000 {
            writeln!(background, "{number}").unwrap();
        }
        background.finish().unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert_eq!(text.lines().count(), 1000);
        assert!(text.ends_with("\n999\n"));
    }

    #[test]
    fn a_full_disk_is_told() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut background = Background::new(full);
        let _ = background.write_all(b"something");
        assert!(background.finish().is_err());
    }
}

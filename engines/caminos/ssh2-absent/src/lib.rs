//! The part of the interface of the crate `ssh2` that caminos-lib names, without ssh.
//!
//! caminos-lib can send whole experiments to remote hosts; a simulation never does. Leaving ssh out spares every
//! machine that builds this front end OpenSSL and libssh2. No session can be made, so nothing beyond
//! `Session::new` can be reached: the types below hold an `Absent`, of which there is no value.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;

/// A type without values.
enum Absent {}

/// The only error: remote sessions are not part of this build.
#[derive(Debug)]
pub struct Error(());

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("remote sessions (ssh2) are left out of this build of caminos-lib")
    }
}

impl std::error::Error for Error {}

/// A question of the remote host.
pub struct Prompt<'a> {
    /// Its text.
    pub text: std::borrow::Cow<'a, str>,
    /// Whether the answer may be shown.
    pub echo: bool,
}

/// Whoever answers the questions of the remote host.
pub trait KeyboardInteractivePrompt {
    /// Answer all prompts.
    fn prompt<'a>(&mut self, username: &str, instructions: &str, prompts: &[Prompt<'a>]) -> Vec<String>;
}

/// An ssh session; there is none.
pub struct Session(Absent);

/// A file transfer session; there is none.
pub struct Sftp(Absent);

/// A remote file; there is none.
pub struct File(Absent);

/// What is known of a remote file; there is none.
pub struct FileStat(Absent);

/// What is known of a file being copied; there is none.
pub struct ScpFileStat(Absent);

/// A remote command; there is none.
pub struct Channel(Absent);

/// A stream of a remote command; there is none.
pub struct Stream(Absent);

impl Session {
    /// Always an error.
    pub fn new() -> Result<Session, Error> {
        Err(Error(()))
    }
    pub fn set_tcp_stream(&mut self, _stream: TcpStream) {
        match self.0 {}
    }
    pub fn handshake(&mut self) -> Result<(), Error> {
        match self.0 {}
    }
    pub fn auth_methods(&self, _username: &str) -> Result<&str, Error> {
        match self.0 {}
    }
    pub fn authenticated(&self) -> bool {
        match self.0 {}
    }
    pub fn userauth_pubkey_file(
        &self,
        _username: &str,
        _public: Option<&Path>,
        _private: &Path,
        _passphrase: Option<&str>,
    ) -> Result<(), Error> {
        match self.0 {}
    }
    pub fn userauth_keyboard_interactive<P: KeyboardInteractivePrompt>(
        &self,
        _username: &str,
        _prompter: &mut P,
    ) -> Result<(), Error> {
        match self.0 {}
    }
    pub fn userauth_password(&self, _username: &str, _password: &str) -> Result<(), Error> {
        match self.0 {}
    }
    pub fn sftp(&self) -> Result<Sftp, Error> {
        match self.0 {}
    }
    pub fn scp_recv(&self, _path: &Path) -> Result<(Channel, ScpFileStat), Error> {
        match self.0 {}
    }
    pub fn channel_session(&self) -> Result<Channel, Error> {
        match self.0 {}
    }
}

impl Sftp {
    pub fn open(&self, _path: &Path) -> Result<File, Error> {
        match self.0 {}
    }
    pub fn create(&self, _path: &Path) -> Result<File, Error> {
        match self.0 {}
    }
    pub fn stat(&self, _path: &Path) -> Result<FileStat, Error> {
        match self.0 {}
    }
    pub fn mkdir(&self, _path: &Path, _mode: i32) -> Result<(), Error> {
        match self.0 {}
    }
}

impl FileStat {
    pub fn is_dir(&self) -> bool {
        match self.0 {}
    }
}

impl fmt::Debug for FileStat {
    fn fmt(&self, _formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

impl Channel {
    pub fn exec(&mut self, _command: &str) -> Result<(), Error> {
        match self.0 {}
    }
    pub fn stderr(&self) -> Stream {
        match self.0 {}
    }
    pub fn wait_close(&mut self) -> Result<(), Error> {
        match self.0 {}
    }
    pub fn exit_status(&self) -> Result<i32, Error> {
        match self.0 {}
    }
}

impl Read for File {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }
}

impl Write for File {
    fn write(&mut self, _buffer: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }
    fn flush(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}

impl Read for Channel {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }
}

impl Read for Stream {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }
}

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

/// Define types of which there is no value, and their methods, which nothing can call.
macro_rules! absent {
    ($($type:ident: $description:literal { $(fn $method:ident($($argument:ident: $of:ty),*) -> $result:ty;)* })*) => {$(
        #[doc = concat!($description, "; there is none.")]
        pub struct $type(Absent);

        impl $type {
            $(pub fn $method(&self, $($argument: $of),*) -> $result {
                match self.0 {}
            })*
        }
    )*};
}

absent! {
    Session: "An ssh session" {
        fn handshake() -> Result<(), Error>;
        fn auth_methods(_username: &str) -> Result<&str, Error>;
        fn authenticated() -> bool;
        fn userauth_pubkey_file(
            _username: &str, _public: Option<&Path>, _private: &Path, _passphrase: Option<&str>
        ) -> Result<(), Error>;
        fn userauth_password(_username: &str, _password: &str) -> Result<(), Error>;
        fn sftp() -> Result<Sftp, Error>;
        fn scp_recv(_path: &Path) -> Result<(Channel, ScpFileStat), Error>;
        fn channel_session() -> Result<Channel, Error>;
    }
    Sftp: "A file transfer session" {
        fn open(_path: &Path) -> Result<File, Error>;
        fn create(_path: &Path) -> Result<File, Error>;
        fn stat(_path: &Path) -> Result<FileStat, Error>;
        fn mkdir(_path: &Path, _mode: i32) -> Result<(), Error>;
    }
    File: "A remote file" {}
    FileStat: "What is known of a remote file" {
        fn is_dir() -> bool;
    }
    ScpFileStat: "What is known of a file being copied" {}
    Channel: "A remote command" {
        fn exec(_command: &str) -> Result<(), Error>;
        fn stderr() -> Stream;
        fn wait_close() -> Result<(), Error>;
        fn exit_status() -> Result<i32, Error>;
    }
    Stream: "A stream of a remote command" {}
}

impl Session {
    /// Always an error.
    pub fn new() -> Result<Session, Error> {
        Err(Error(()))
    }
    pub fn set_tcp_stream(&self, _stream: TcpStream) {
        match self.0 {}
    }
    pub fn userauth_keyboard_interactive<P: KeyboardInteractivePrompt>(&self, _: &str, _: &mut P) -> Result<(), Error> {
        match self.0 {}
    }
}

impl fmt::Debug for FileStat {
    fn fmt(&self, _formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

macro_rules! read {
    ($($type:ident)*) => {$(
        impl Read for $type {
            fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
                match self.0 {}
            }
        }
    )*};
}

read!(File Channel Stream);

impl Write for File {
    fn write(&mut self, _buffer: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }
    fn flush(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}

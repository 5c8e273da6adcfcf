//! The part of the interface of the crate `ssh2` that caminos-lib names, without ssh.
//!
//! caminos-lib can send whole experiments to remote hosts; a simulation never does. Without ssh, builds need neither OpenSSL
//! nor libssh2. All types of a session are one without values, so that `Session::new` is all that can be reached.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;

#[derive(Debug)]
pub enum Absent {}

pub type Session = Absent;
pub type Sftp = Absent;
pub type File = Absent;
pub type FileStat = Absent;
pub type ScpFileStat = Absent;
pub type Channel = Absent;
pub type Stream = Absent;

/// Remote sessions are not part of this build.
#[derive(Debug)]
pub struct Error(());

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("remote sessions (ssh2) are left out of this build of caminos-lib")
    }
}

impl std::error::Error for Error {}

pub struct Prompt<'a> {
    pub text: std::borrow::Cow<'a, str>,
    pub echo: bool,
}

pub trait KeyboardInteractivePrompt {
    fn prompt<'a>(&mut self, username: &str, instructions: &str, prompts: &[Prompt<'a>]) -> Vec<String>;
}

macro_rules! unreachable {
    ($(fn $method:ident($($of:ty),*) -> $result:ty;)*) => {
        $(pub fn $method(&self, $(_: $of),*) -> $result {
            match *self {}
        })*
    };
}

impl Absent {
    pub fn new() -> Result<Absent, Error> {
        Err(Error(()))
    }

    pub fn userauth_keyboard_interactive<P: KeyboardInteractivePrompt>(&self, _: &str, _: &mut P) -> Result<(), Error> {
        match *self {}
    }

    unreachable! {
        fn set_tcp_stream(TcpStream) -> ();
        fn handshake() -> Result<(), Error>;
        fn auth_methods(&str) -> Result<&str, Error>;
        fn authenticated() -> bool;
        fn userauth_pubkey_file(&str, Option<&Path>, &Path, Option<&str>) -> Result<(), Error>;
        fn userauth_password(&str, &str) -> Result<(), Error>;
        fn sftp() -> Result<Sftp, Error>;
        fn scp_recv(&Path) -> Result<(Channel, ScpFileStat), Error>;
        fn channel_session() -> Result<Channel, Error>;
        fn open(&Path) -> Result<File, Error>;
        fn create(&Path) -> Result<File, Error>;
        fn stat(&Path) -> Result<FileStat, Error>;
        fn mkdir(&Path, i32) -> Result<(), Error>;
        fn is_dir() -> bool;
        fn exec(&str) -> Result<(), Error>;
        fn stderr() -> Stream;
        fn wait_close() -> Result<(), Error>;
        fn exit_status() -> Result<i32, Error>;
    }
}

impl Read for Absent {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}

impl Write for Absent {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match *self {}
    }
}

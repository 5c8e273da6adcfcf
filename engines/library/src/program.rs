//! The command line of a simulator, `PROGRAM INPUT... RESULT` or `PROGRAM --version`.
//!
//! Exit codes: 0 the result is written; 1 it cannot be written; 2 a file is bad (or the command line); 3 the jobs did not
//! finish; 101 a panic. The result appears in one piece, and only with exit code 0.

use std::fs;
use std::path::Path;

use crate::input::BadFile;

const NOT_WRITTEN: i32 = 1;
const BAD_FILE: i32 = 2;
const NOT_FINISHED: i32 = 3;

/// Run a program on its arguments and return the exit code; `simulate` takes the input files and returns the result as
/// JSON, or why the jobs do not finish.
pub fn run<const N: usize>(
    usage: &str, version: &str, simulate: impl FnOnce([&str; N]) -> Result<Result<String, String>, BadFile>,
) -> i32 {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (text, code) = match (&arguments[..], <[&str; N]>::try_from(&arguments[..arguments.len().saturating_sub(1)])) {
        (["--version"], _) => {
            println!("{version}");
            return 0;
        }
        ([.., path], Ok(files)) => match simulate(files) {
            Ok(Ok(json)) => {
                let partial = Path::new(path).with_extension("partial");
                match fs::write(&partial, json).and_then(|()| fs::rename(&partial, path)) {
                    Ok(()) => return 0,
                    Err(error) => (format!("{path}: cannot be written: {error}"), NOT_WRITTEN),
                }
            }
            Ok(Err(reason)) => (reason, NOT_FINISHED),
            Err(BadFile(problem)) => (problem, BAD_FILE),
        },
        _ => (format!("usage: {usage} | --version"), BAD_FILE),
    };
    eprintln!("{text}");
    code
}

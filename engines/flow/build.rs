//! Gives the program a digest of its sources, so that it can say what it was built from.

use std::fs;
use std::path::PathBuf;

/// Modules that the front end for CAMINOS has, too.
const SHARED: [&str; 5] = ["input.rs", "grid.rs", "tree.rs", "listed_routes.rs", "operation_file.rs"];

fn main() {
    let mut files = files_below("src".into());
    files.extend(SHARED.iter().map(|name| PathBuf::from("../caminos/src").join(name)));
    files.push(PathBuf::from("Cargo.lock"));
    files.push(PathBuf::from("Cargo.toml"));
    files.sort();
    // FNV-1a, 64 bits.
    let mut digest: u64 = 0xcbf2_9ce4_8422_2325;
    for file in files {
        println!("cargo:rerun-if-changed={}", file.display());
        for byte in fs::read(&file).expect("sources can be read") {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rustc-env=SOURCES={:016x}", digest);
}

fn files_below(folder: PathBuf) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).expect("sources can be read").map(|entry| entry.expect("sources can be read").path());
    entries.flat_map(|path| if path.is_dir() { files_below(path) } else { vec![path] }).collect()
}

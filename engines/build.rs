//! Build script of the programs: put a digest of the sources into the version of each.

use std::fs;
use std::path::PathBuf;

fn main() {
    let mut files: Vec<PathBuf> =
        ["src", "../library/src"].iter().flat_map(|folder| files_below(folder.into())).collect();
    // CAMINOS has a lock of its own.
    let lock = ["Cargo.lock", "../Cargo.lock"].map(PathBuf::from).into_iter().find(|lock| lock.exists());
    files.extend(lock.into_iter().chain(["Cargo.toml".into()]));
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

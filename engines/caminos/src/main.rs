fn main() { println!("{}", caminos_lib::get_version_number()); }

"""What a wheel holds beside the package: the files of `fabricstudy.core.paths`, and our programs in Rust.

Whatever else there is to say stands in pyproject.toml. An editable install takes both from the clone.
"""

import os
import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HOME = ("Snakefile", "workflow", "profiles", "configs", "docs", "envs/fabricstudy.yaml", "engines/sst")


class BuildWithHome(build_py):
    """Copies the package, and what belongs into its folder ``share``."""

    def run(self) -> None:
        """Copy."""
        super().run()
        if self.editable_mode:
            return
        home = Path(self.build_lib, "fabricstudy", "share")
        for name in HOME:
            for file in [Path(name)] if Path(name).is_file() else filter(Path.is_file, Path(name).rglob("[!.]*")):
                (home / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, home / file)


def programs() -> list:
    """Give our programs where a wheel is built; otherwise cargo need not be here."""
    if "bdist_wheel" not in sys.argv:
        return []
    from setuptools_rust import RustBin

    # Cargo itself looks for such a file only above the folder it is called in.
    settings = ["--config", "engines/caminos/.cargo/config.toml"]
    return [
        RustBin("fabricstudy-caminos", "engines/caminos/Cargo.toml", args=["--locked", *settings]),
        *(
            RustBin(f"fabricstudy-{name}", f"engines/{name}/Cargo.toml", args=["--locked"])
            for name in ("packet", "flow")
        ),
    ]


PLATFORM = os.environ.get("FABRICSTUDY_PLATFORM")
"""Platform of the wheel, where its programs are linked statically (make wheel STATIC=1); default: this computer's."""

setup(
    cmdclass={"build_py": BuildWithHome},
    rust_extensions=programs(),
    options={"bdist_wheel": {"plat_name": PLATFORM}} if PLATFORM else {},
)

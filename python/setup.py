"""Builds the wheel: CMake builds the native module, the program and the catalogue, and installs them into the package.

TRNPLAN_BUILD_DIR names a CMake build that already contains them; without it, this checkout is built.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent


def version() -> str:
    return re.search(r"project\(trnplan VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]


class CMakeBuild(build_ext):
    def build_extension(self, ext: Extension) -> None:
        package = Path(self.get_ext_fullpath(ext.name)).resolve().parent
        build = os.environ.get("TRNPLAN_BUILD_DIR") or self.made()
        subprocess.run(["cmake", "--install", str(build), "--component", "python", "--prefix", str(package), "--strip"],
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        subprocess.run(["strip", str(package / "bin" / "trnplan")], check=True)
        for link in (package / "lib").iterdir():  # a wheel stores links as copies
            if link.is_symlink():
                link.resolve().replace(link)

    def made(self) -> Path:
        build = Path(self.build_temp).resolve()
        subprocess.run(
            ["cmake", "-S", str(SOURCE), "-B", str(build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
             "-DTRNPLAN_BUILD_TESTS=OFF", "-DTRNPLAN_BUILD_BENCH=OFF", "-DTRNPLAN_BUILD_PYTHON=REQUIRED",
             f"-DPython_EXECUTABLE={sys.executable}"],
            check=True,
        )  # fmt: skip
        subprocess.run(["cmake", "--build", str(build), "--target", "trnplan_wheel_files"], check=True)
        return build


def platform() -> dict:
    """Platform tag for package indexes. The wheel needs only the C library of this system, or a newer one."""
    try:
        library, release = os.confstr("CS_GNU_LIBC_VERSION").split()
    except (AttributeError, OSError, ValueError):
        return {}  # another C library
    return {"plat_name": f"manylinux_{release.replace('.', '_')}_{os.uname().machine}"} if library == "glibc" else {}


setup(
    version=version(),
    ext_modules=[Extension("trnplan._native", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
    options={"bdist_wheel": platform()},
)

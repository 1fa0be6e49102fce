"""The list of packages, which pyproject.toml cannot say.

In the checkout the folders are app/, benchmarks/, data/ and experiments/. Installed
under those names they would claim very common top-level modules in someone else's
environment, so they are installed as imop_app, imop_benchmarks, imop_data and
imop_experiments. setuptools can find packages or rename them from pyproject.toml, but not both;
these lines do both, so that a new sub-package is never forgotten in the wheel.
"""

from setuptools import find_packages, setup

FOLDERS = {
    "imop_engine": "imop_engine",
    "imop_app": "app",
    "imop_benchmarks": "benchmarks",
    "imop_data": "data",
    "imop_experiments": "experiments",
}

setup(
    package_dir=FOLDERS,
    packages=[
        package
        for name, folder in FOLDERS.items()
        for package in [name, *(f"{name}.{sub}" for sub in find_packages(folder))]
    ],
)

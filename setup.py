"""Packaging of freezecompat."""

import os
import re

from setuptools import find_packages, setup

HERE = os.path.dirname(os.path.abspath(__file__))


def read(*names):
    with open(os.path.join(HERE, *names), encoding="utf-8") as file:
        return file.read()


def long_description():
    # A checkout without README.md builds too.
    return read("README.md") if os.path.exists(os.path.join(HERE, "README.md")) else ""


VERSION = re.search('^__version__ = "(.*)"$', read("freezecompat", "_version.py"), re.M).group(1)

TENSORFLOW = ["tensorflow"]
# The same without GPU support: a third of the size. Not built for macOS, where the plain one has none anyway.
CPU = ['tensorflow-cpu; sys_platform != "darwin"', 'tensorflow; sys_platform == "darwin"']
CLI = ["rich", "PyYAML"]
PLOT = ["matplotlib"]
FILES = ["h5py"]
TEST = ["pytest", "pytest-xdist", "hypothesis", "jsonschema", "PyYAML"] + FILES + PLOT

setup(
    name="freezecompat",
    version=VERSION,
    description="Freeze single elements of a model's weights, bit for bit, under every TensorFlow from 1.x to Keras 3",
    long_description=long_description(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    packages=find_packages(include=["freezecompat", "freezecompat.*"]),
    package_data={"freezecompat": ["py.typed", "spec.schema.json"]},
    python_requires=">=3.7",
    install_requires=["numpy>=1.16"],
    extras_require={
        "tensorflow": TENSORFLOW,
        "cpu": CPU,
        "cli": CLI,
        "plot": PLOT,
        "files": FILES,
        "test": TEST,
        "all": TENSORFLOW + CLI + PLOT + FILES,
    },
    entry_points={"console_scripts": ["freezecompat = freezecompat.cli:main"]},
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Science/Research",
        "Operating System :: OS Independent",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.7",
        "Programming Language :: Python :: 3.8",
        "Programming Language :: Python :: 3.9",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
    keywords="tensorflow keras freeze weights mask pruning tensorflow1 compat",
    zip_safe=False,
)

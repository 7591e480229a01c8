"""How much memory `freezecompat verify` takes for two files of a model, and how long it takes.

    python benchmarks/verify_files.py [--megabytes 1024] [--formats .npz .h5 ...] [--specs few half all] [--json FILE]

It makes the files itself, in a temporary folder: one weight of float32, of which every element but ten has moved. `few`
freezes those ten, `half` a slice, `all` the whole weight. Exit code 1 where a comparison took more than --limit megabytes, or gave a
wrong answer. Checkpoints are made by TensorFlow, in a process of its own, and left out where it is not installed.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROWS, COLUMNS = 1024, 1024  # of a block: 4 MB
FROZEN = [[0, column] for column in range(10)]
SPECS = {"few": (FROZEN, 0), "half": (":, 0:512", 1), "all": ("all", 1)}  # (elements, exit code of verify)
LAYER = {"class_name": "Dense", "config": {"name": "layer", "use_bias": False}}
CONFIG = {"class_name": "Sequential", "config": {"layers": [LAYER]}}

_CHECKPOINT = """
import sys
import numpy as np, tensorflow as tf
v1, path, shape = tf.compat.v1, sys.argv[1], (int(sys.argv[2]), int(sys.argv[3]))
with tf.Graph().as_default(), v1.Session() as session:
    value = v1.placeholder(tf.float32, shape)
    weight = v1.get_variable("layer/kernel", shape, initializer=v1.zeros_initializer())
    session.run(weight.initializer)
    values = np.tile(np.load(path + ".block.npy"), (shape[0] // 1024, 1))
    values[0, :10] = 0
    weight.load(values, session)
    v1.train.Saver().save(session, path, write_meta_graph=False)
"""


def blocks(count, seed):
    """The values of a file, so many blocks; another seed moves all but the frozen ones."""
    values = np.random.RandomState(seed).rand(ROWS, COLUMNS).astype(np.float32)
    for k in range(count):
        block = values.copy() if k == 0 else values
        if k == 0:
            block[tuple(np.transpose(FROZEN))] = 0
        yield block


def write_array(file, count, seed):
    header = {"descr": "<f4", "fortran_order": False, "shape": (count * ROWS, COLUMNS)}
    np.lib.format.write_array_header_1_0(file, header)
    for block in blocks(count, seed):
        file.write(block.tobytes())


def make_npy(folder, count, seed):
    path = os.path.join(folder, "layer.npy")
    with open(path, "wb") as file:
        write_array(file, count, seed)
    return path, "layer"


def make_npz(folder, count, seed):
    path = os.path.join(folder, "file.npz")
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        with archive.open("layer/kernel.npy", "w", force_zip64=True) as file:
            write_array(file, count, seed)
    return path, "layer/kernel"


def write_hdf5(path, place, count, seed, **attributes):
    import h5py

    with h5py.File(path, "w") as file:
        file.attrs.update({name: value for name, value in attributes.items() if name != "weight_names"})
        dataset = file.create_dataset(place, (count * ROWS, COLUMNS), "f4")
        for k, block in enumerate(blocks(count, seed)):
            dataset[k * ROWS : (k + 1) * ROWS] = block
        if "weight_names" in attributes:
            file["layer"].attrs["weight_names"] = attributes["weight_names"]


def make_h5(folder, count, seed):
    path = os.path.join(folder, "file.h5")
    names = {"layer_names": [b"layer"], "weight_names": [b"layer/kernel:0"]}
    write_hdf5(path, "layer/layer/kernel:0", count, seed, **names)
    return path, "layer/kernel"


def make_weights_h5(folder, count, seed):
    path = os.path.join(folder, "file.weights.h5")
    write_hdf5(path, "layers/dense/vars/0", count, seed)
    return path, "dense/kernel"


def make_keras(folder, count, seed):
    path = os.path.join(folder, "file.keras")
    weights = os.path.join(folder, "weights")
    write_hdf5(weights, "layers/dense/vars/0", count, seed)
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        archive.writestr("config.json", json.dumps(CONFIG))
        archive.write(weights, "model.weights.h5")
    os.remove(weights)
    return path, "layer/kernel"


def make_checkpoint(folder, count, seed):
    path = os.path.join(folder, "ckpt")
    np.save(path + ".block.npy", np.random.RandomState(seed).rand(ROWS, COLUMNS).astype(np.float32))
    shape = [str(count * ROWS), str(COLUMNS)]
    subprocess.run([sys.executable, "-c", _CHECKPOINT, path] + shape, check=True, stderr=subprocess.DEVNULL)
    return path, "layer/kernel"


FORMATS = {
    ".npy": make_npy,
    ".npz": make_npz,
    ".h5": make_h5,
    ".weights.h5": make_weights_h5,
    ".keras": make_keras,
    "checkpoint": make_checkpoint,
}


def missing(name):
    """The package that a format can't be made without here, or None."""
    needed = "tensorflow" if name == "checkpoint" else None if name in (".npy", ".npz") else "h5py"
    return needed if needed and importlib.util.find_spec(needed) is None else None


def measure(before, after, weight, spec, folder):
    """Megabytes at the peak, seconds, and whether the answer was right, of a process of its own."""
    elements, expected = SPECS[spec]
    path = os.path.join(folder, "spec.json")
    with open(path, "w") as file:
        json.dump({"freezecompat": 1, "freeze": [{"weight": weight, "elements": elements}]}, file)
    command = [sys.executable, "-m", "freezecompat", "verify", before, after, "--spec", path]
    start = time.time()
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")])))
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return usage.ru_maxrss / unit, time.time() - start, child.returncode == expected


def run(options):
    """A row for each format and spec."""
    for name in options.formats:
        if missing(name):
            print("{}: left out, {} is not installed".format(name, missing(name)), file=sys.stderr)
            continue
        with contextlib.ExitStack() as stack:
            folders = [stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(2)]
            made = [FORMATS[name](folder, -(-options.megabytes // 4), seed) for seed, folder in enumerate(folders)]
            for spec in options.specs:
                peak, seconds, is_right = measure(made[0][0], made[1][0], made[0][1], spec, folders[0])
                yield {
                    "format": name,
                    "spec": spec,
                    "megabytes": -(-options.megabytes // 4) * 4,
                    "peak_megabytes": round(peak, 1),
                    "seconds": round(seconds, 2),
                    "right": is_right,
                }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--megabytes", type=int, default=1024, help="size of each of the two files")
    parser.add_argument("--formats", nargs="+", choices=list(FORMATS), default=list(FORMATS))
    parser.add_argument("--specs", nargs="+", choices=list(SPECS), default=list(SPECS))
    parser.add_argument("--limit", type=float, default=300, help="megabytes that a comparison may take")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    options = parser.parse_args()
    rows = []
    print("{:<12} {:<5} {:>10} {:>9} {:>8}".format("format", "spec", "file MB", "peak MB", "seconds"))
    for row in run(options):
        rows.append(row)
        line = "{format:<12} {spec:<5} {megabytes:>10} {peak_megabytes:>9} {seconds:>8}".format(**row)
        print(line + ("" if row["right"] else "  wrong answer"), flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"limit_megabytes": options.limit, "rows": rows}, file, indent=1)
    return 0 if all(row["right"] and row["peak_megabytes"] <= options.limit for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

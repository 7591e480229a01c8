"""What a freeze keeps in memory, and what a frozen step allocates more than the plain one. Linux only.

    python benchmarks/memory.py [--program NAME ...] [--variant NAME ...] [--size 6000] [--repeat 3] [--json FILE]

The programs and variants of training_step.py, with a square kernel. Each runs in a process of its own; what is printed is the
median of frozen minus plain:

    kept      bytes an element of the kernel, of the process after some steps
    blocks    blocks as large as the kernel that a step allocates and writes
    peak      how much more than before the process takes in the middle of a step, in kernels

The allocator is made to ask the system for each block of a megabyte or more, and to give it back when it is freed. So the
page faults of a step are the pages that it has allocated and written (Linux counts them: ru_minflt), and the process is
as large as what it keeps (VmRSS) and its largest in a step (VmHWM, reset before) what it takes at its peak. That holds for
every API alike, XLA's included, and a count is the same each time but for some small blocks. A frozen step may take one block more, the selected
gradient.
"""

import ctypes
import gc
import json
import os
import resource
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import figures  # noqa: E402

#: Elements frozen -> what may be kept, in bytes an element, of a number of frozen elements and of all.
MAY_KEEP = {
    "freezecompat, none yet": lambda frozen, size: 0,
    "freezecompat, 2 elements": lambda frozen, size: 8 * frozen / size,
    "freezecompat, half, a slice": lambda frozen, size: 0,
    "freezecompat, half": lambda frozen, size: min(1, 8 * frozen / size),
    "freezecompat, all but 1": lambda frozen, size: min(1, 8 * frozen / size),
}
FROZEN = {"freezecompat, 2 elements": lambda size: 2, "freezecompat, half": lambda size: size // 2}
# Processes that do the same differ by some megabytes: code that was loaded, a graph's own objects.
MEGABYTES_APART = 8
# Blocks below the kernel's size, such as those of a batch.
BLOCKS_APART = 0.1
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _PR_SET_THP_DISABLE = -1, -3, 41
STEPS_BEFORE = 2


def child(program_name, variant, size):
    """Train one variant, and say what its process took."""
    libc = ctypes.CDLL(None)
    libc.mallopt(_M_MMAP_THRESHOLD, 1 << 20)
    libc.mallopt(_M_TRIM_THRESHOLD, 1 << 20)
    libc.prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0)  # else a fault is of 512 pages here and of one there
    import training_step

    program, load = training_step.programs()[program_name], training_step.Load("dense", size)
    run = program.make(load, **training_step.variants(program, load)[variant])
    for _ in range(STEPS_BEFORE):
        run()
    gc.collect()
    libc.malloc_trim(0)
    before = _status("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # VmHWM is what the process takes now
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    run()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
    kernel = 4 * size * size
    found = {
        "kept": before / size**2,
        "blocks": faults * resource.getpagesize() / kernel / load.steps,
        "peak": (_status("VmHWM") - before) / kernel,
    }
    print(json.dumps(dict(found, facts=figures.facts())))


def _status(name):
    """Bytes that the kernel says of this process."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))


def measured(program, variant, size):
    """What a child has printed."""
    command = [sys.executable, os.path.abspath(__file__), "--child", program, variant, "--size", str(size)]
    # oneDNN has a pool of its own, from which nothing goes back; no operation of a step's is in it.
    environment = dict(os.environ, TF_ENABLE_ONEDNN_OPTS="0", TF_CPP_MIN_LOG_LEVEL="3")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    if done.returncode:
        raise RuntimeError("{}, {}:\n{}".format(program, variant, done.stderr.decode()[-2000:]))
    return json.loads(done.stdout.decode().splitlines()[-1])


def rows_of(program, variants, options):
    """A row for each variant and figure: frozen minus plain."""
    size, case = options.size**2, "{0} x {0}".format(options.size)
    taken = {
        variant: [measured(program, variant, options.size) for _ in range(options.repeat)]
        for variant in ["plain"] + variants
    }
    for what, unit in (("kept", "bytes/element"), ("blocks", "kernels"), ("peak", "kernels")):
        plain = [one[what] for one in taken["plain"]]
        for variant in variants:
            more = [one[what] - other for one, other in zip(taken[variant], plain)]
            target = 1 + BLOCKS_APART
            if what == "kept":
                frozen = FROZEN.get(variant, lambda size: size)(size)
                target = MAY_KEEP[variant](frozen, size) + MEGABYTES_APART * 2**20 / size
            figure, spread = statistics.median(more), (min(more), max(more))
            found = figures.row("memory: " + what, program, case, variant, figure, spread, unit, round(target, 4))
            yield dict(found, plain=round(statistics.median(plain), 3))


def known_programs():
    """The names, from a child: this process stays without TensorFlow."""
    code = "import training_step, tensorflow; print(' | '.join(training_step.programs()), tensorflow.__version__, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=HERE, check=True)
    names, version = done.stdout.decode().splitlines()[-2:]
    return names.split(" | "), version


def main():
    parser = figures.parser(__doc__)
    parser.add_argument("--program", nargs="+", metavar="NAME", help="those whose name has this text in it")
    parser.add_argument("--variant", nargs="+", choices=list(MAY_KEEP), default=list(MAY_KEEP))
    parser.add_argument("--size", type=int, default=6000, help="rows and columns of the kernel")
    parser.add_argument("--repeat", type=int, default=3, help="processes of each")
    parser.add_argument("--child", nargs=2, metavar=("PROGRAM", "VARIANT"), help="measure this process; for itself")
    options = parser.parse_args()
    if options.child:
        return child(*options.child, size=options.size)
    known, version = known_programs()
    wanted = [name for name in known if options.program is None or any(text in name for text in options.program)]
    if not wanted:
        parser.error("no program is named so; there are: " + "; ".join(known))
    made = (rows_of(name, options.variant, options) for name in wanted)
    figures.show((found for rows in made for found in rows), options.json, tensorflow=version)


if __name__ == "__main__":
    main()

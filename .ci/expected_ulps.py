"""Compare the ULPs of a parity result with those that are kept here, so that a change of any bit is seen.

    python .ci/expected_ulps.py RESULT.json .ci/expected/problem-1.json            exit code 1 where they differ
    python .ci/expected_ulps.py RESULT.json .ci/expected/problem-1.json --write    keep what RESULT.json has

The bits are those of one kind of processor: another one has other instructions for the same sums. Where the flags below
are those that were kept, any difference fails; elsewhere differences are shown, and what decides is the experiment's own
tolerance, that is the exit code of `freezecompat parity`.
"""

import argparse
import json
import os
import sys

FLAGS = ("avx", "avx2", "avx512f", "fma")


def flags():
    """Of this processor, those that choose the arithmetic; None where they can't be read."""
    try:
        with open("/proc/cpuinfo") as file:
            line = next(line for line in file if line.startswith("flags"))
    except (OSError, StopIteration):
        return None
    return [flag for flag in FLAGS if flag in line.split()]


def compact(result):
    """The part of a result that has to stay: by run the bits, by pair of runs the distances."""
    names = ["{tensorflow} {api}".format(**run) for run in result["runs"]]
    bits, ulps = {}, {}
    for name, run in zip(names, result["runs"]):
        if run["status"] == "ran":
            bits[name] = {weight["address"]: " ".join(weight["bits"]) for weight in run["weights"]}
        else:
            bits[name] = run["status"]
    for pair in result["pairs"]:
        key = "{} : {}".format(names[pair["first"]], names[pair["second"]])
        weights = [weight for weight in pair["weights"] if weight["max_ulp"]]
        ulps[key] = {weight["address"]: "{max_ulp} at {element}".format(**weight) for weight in weights}
    return {"processor": flags(), "bits": bits, "ulps": ulps}


def differences(kept, found):
    """Lines: what was kept and what was found."""
    lines = []
    for part in ("ulps", "bits"):
        for key in sorted(set(kept[part]) | set(found[part])):
            was, now = kept[part].get(key), found[part].get(key)
            if not isinstance(was, dict) or not isinstance(now, dict):
                if was != now:
                    lines.append("{}: {}, kept {}".format(key, _short(now), _short(was)))
                continue
            for address in sorted(set(was) | set(now)):
                if was.get(address) != now.get(address):
                    nothing = "0" if part == "ulps" else None
                    text = "{}, {}: {}, kept {}"
                    lines.append(text.format(key, address, now.get(address, nothing), was.get(address, nothing)))
    return lines


def _short(value):
    return "nothing" if value is None else value if isinstance(value, str) else "a run"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("kept")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if not os.path.exists(options.result):
        print("{} is not there: parity made no result".format(options.result))
        return 1
    with open(options.result) as file:
        found = compact(json.load(file))
    if options.write:
        os.makedirs(os.path.dirname(os.path.abspath(options.kept)), exist_ok=True)
        with open(options.kept, "w") as file:
            json.dump(found, file, indent=1, sort_keys=True)
            file.write("\n")
        return 0
    with open(options.kept) as file:
        kept = json.load(file)
    lines = differences(kept, found)
    same_processor = kept["processor"] is not None and kept["processor"] == found["processor"]
    for line in lines:
        print(line)
    if not lines:
        print("{}: every ULP and every bit as kept".format(options.kept))
    elif not same_processor:
        print("note: this processor has {}, kept was {}".format(found["processor"], kept["processor"]))
    return 1 if lines and same_processor else 0


if __name__ == "__main__":
    sys.exit(main())

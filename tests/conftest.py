"""Which TensorFlow, and which mode of it, a run of the tests is about.

    pytest core                      no TensorFlow
    pytest --tf-mode=eager .         all of them; the contract suite in eager mode
    pytest --tf-mode=graph tf        the contract suite in TF1 graphs, a process of its own

FREEZECOMPAT_REQUIRE_TF=1.15. (tox sets it) ends the run where another TensorFlow is installed, or none.
"""

import gc
import os
import sys
import warnings

import hypothesis
import pytest

# A slow or busy machine is no failure.
hypothesis.settings.register_profile("freezecompat", deadline=None)
hypothesis.settings.load_profile("freezecompat")

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = ("eager", "graph")

# Given a mode, the tests of the other one are not collected; given none, no test that needs TensorFlow is.
_ONLY_IN = {
    os.path.join(HERE, "tf"): MODES,
    os.path.join(HERE, "tf", "eager"): ("eager",),
    os.path.join(HERE, "tf", "graph"): ("graph",),
    os.path.join(HERE, "test_examples.py"): MODES,
    os.path.join(HERE, "test_parity.py"): MODES,
    os.path.join(HERE, "test_tf1_alias.py"): MODES,
}


def pytest_addoption(parser):
    group = parser.getgroup("freezecompat")
    group.addoption("--tf-mode", choices=MODES, default=os.environ.get("FREEZECOMPAT_MODE"), help="mode of TensorFlow")
    group.addoption(
        "--without-tf-keras",
        action="store_true",
        default=os.environ.get("FREEZECOMPAT_BLOCK_TF_KERAS") == "1",
        help="behave as if tf_keras were not installed, in child processes too",
    )
    group.addoption("--every-option", action="store_true", help="test each optimizer with each of its options")
    group.addoption("--guarantees", metavar="FOLDER", help="print what the tests show as tables, and keep it there")
    group.addoption("--every-way-of-saving", action="store_true", help="kill and resume with each kind of file")


def pytest_configure(config):
    required = os.environ.get("FREEZECOMPAT_REQUIRE_TF")
    mode = config.getoption("--tf-mode")
    if config.getoption("--without-tf-keras"):
        _block_tf_keras()
    if mode is not None:
        os.environ["FREEZECOMPAT_MODE"] = mode
        tf = _tensorflow(required)
        _switch(mode, tf)
        if config.getoption("--guarantees"):
            _gather(config, mode, tf)
    elif required:
        raise pytest.UsageError("FREEZECOMPAT_REQUIRE_TF={} needs --tf-mode".format(required))


def _gather(config, mode, tf):
    import freezecompat
    import guarantees

    tf.keras.Model  # loads Keras
    runtime = {"tensorflow": tf.__version__, "keras": freezecompat.detect_backend().keras, "mode": mode}
    runtime["python"] = "{}.{}".format(*sys.version_info)
    config.pluginmanager.register(guarantees.Sweep(runtime, config.getoption("--guarantees")))


def pytest_report_header(config):
    mode = config.getoption("--tf-mode")
    if mode is None:
        return "freezecompat: without TensorFlow"
    return "freezecompat: TensorFlow {}, {} mode{}".format(
        sys.modules["tensorflow"].__version__,
        mode,
        ", tf_keras blocked" if config.getoption("--without-tf-keras") else "",
    )


def pytest_ignore_collect(collection_path, config):
    modes = _ONLY_IN.get(str(collection_path))
    return True if modes is not None and config.getoption("--tf-mode") not in modes else None


def _block_tf_keras():
    os.environ["FREEZECOMPAT_BLOCK_TF_KERAS"] = "1"
    sys.modules["tf_keras"] = None
    # A child process runs the sitecustomize.py of this folder when it starts.
    folders = [os.path.join(HERE, "without_tf_keras")] + os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))


def _tensorflow(required):
    """TensorFlow, which must be there and be the required one."""
    if "tensorflow" in sys.modules:  # what such a file asked of TensorFlow, it asked in the other mode
        raise pytest.UsageError("a conftest.py imports tensorflow when it is read, which is before the mode is set")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python, about old TensorFlows
            import tensorflow as tf
    except ImportError as error:
        raise pytest.UsageError("the tests need TensorFlow {}: {}".format(required or "", error)) from error
    if not tf.__version__.startswith(required or ""):
        raise pytest.UsageError("the tests need TensorFlow {}, here is {}".format(required, tf.__version__))
    return tf


def _switch(mode, tf):
    if mode == "graph":
        tf.compat.v1.disable_eager_execution()
    else:
        tf.compat.v1.enable_eager_execution()
    if tf.executing_eagerly() != (mode == "eager"):
        raise pytest.UsageError("TensorFlow is not in {} mode".format(mode))


@pytest.fixture(scope="module", autouse=True)
def heap_of_its_own():
    """A search of Python's objects, as an attach makes, does not look at what hundreds of tests before have left."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def write(experiment, tmp_path):
    """Writes the file of `experiment`, without the lines that hold a text, and with further ones; gives its path."""

    def write(*lines, without=None):
        kept = [line for line in experiment.splitlines() if not without or without not in line]
        path = tmp_path / "mine.py"
        path.write_text("\n".join(kept + list(lines)))
        return str(path)

    return write

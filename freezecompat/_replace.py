"""Write a file as a whole or not at all."""

import os
import uuid
from contextlib import contextmanager
from typing import IO, Any, Iterator


@contextmanager
def replacing(path: Any, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file that takes the place of `path` once it is written; a failure leaves what was there.

    Args:
        path: the file; a link is followed. What is there and no file, such as /dev/stdout, is written to as it is.
        mode: "w" for UTF-8 text with "\\\\n" at line ends, "wb" for bytes.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replacing(os.path.join(folder, "a.txt")) as file:
        ...         _ = file.write("text")
        ...     os.listdir(folder)
        ['a.txt']
    """
    target = os.path.realpath(os.fspath(path))
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, mode, **text) as file:
            yield file
        return
    temporary = "{}.{}.tmp".format(target, uuid.uuid4().hex)
    try:
        with open(temporary, mode.replace("w", "x"), **text) as file:
            yield file
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise

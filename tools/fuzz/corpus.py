#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The corpora of the fuzz targets: inputs that engines found, and inputs made by hand.

What engines found is one archive a target, tests/fuzz/corpus/TARGET.zip: members are named by the SHA-1 sum of what
they hold, in order, not compressed, without times and owners, so that the same inputs make the same archive. Inputs
made by hand are files, tests/fuzz/seeds/TARGET/WHAT-IT-TRIES.

  tools/fuzz/corpus.py --unpack TARGET...     into build/fuzz/corpus; prints the folders
  tools/fuzz/corpus.py --zip TARGET FILE      all inputs of a target, for a fuzzing service
"""

import hashlib
import pathlib
import shutil
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHIVES = ROOT / "tests" / "fuzz" / "corpus"
SEEDS = ROOT / "tests" / "fuzz" / "seeds"
UNPACKED = ROOT / "build" / "fuzz" / "corpus"
OWN = "seed-"  # in front of the names of inputs made by hand, where both kinds lie together
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first time that a zip file can hold
MODE = 0o100644


def archive_of(target):
    return ARCHIVES / f"{target}.zip"


def seeds_of(target):
    """The files made by hand, in order."""
    folder = SEEDS / target
    return sorted(folder.iterdir()) if folder.is_dir() else []


def read_archive(path):
    """name -> content."""
    if not path.exists():
        return {}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_archive(path, inputs):
    """The archive of `inputs`, name -> content: the same bytes for the same inputs."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(inputs):
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system, info.external_attr = 3, MODE << 16
            archive.writestr(info, inputs[name])


def named_by_sum(contents):
    """The contents by the names that they have in an archive, each once."""
    return {hashlib.sha1(content).hexdigest(): content for content in contents}


def all_inputs(target):
    """name -> content, of both kinds."""
    return {**read_archive(archive_of(target)), **{OWN + path.name: path.read_bytes() for path in seeds_of(target)}}


def unpack(target):
    """Folder with all inputs of a target; made when the inputs have changed, whole or not at all."""
    inputs = all_inputs(target)
    digest = hashlib.sha256()
    for name in sorted(inputs):
        digest.update(name.encode() + b"\0" + hashlib.sha256(inputs[name]).digest())
    folder = UNPACKED / target / digest.hexdigest()[:16]
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = pathlib.Path(tempfile.mkdtemp(dir=folder.parent, prefix="."))
    for name, content in inputs.items():
        (fresh / name).write_bytes(content)
    try:
        fresh.rename(folder)
    except OSError:  # another process was faster
        shutil.rmtree(fresh)
    return folder


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "--zip":
        write_archive(arguments[2], all_inputs(arguments[1]))
    elif len(arguments) > 1 and arguments[0] == "--unpack":
        for target in arguments[1:]:
            print(unpack(target).relative_to(ROOT))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])

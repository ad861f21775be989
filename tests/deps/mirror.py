# SPDX-License-Identifier: Apache-2.0
"""Mirrors made for a test: suites of Debian signed by keys of their own, and upstream's archives, on loopback."""

import contextlib
import email.utils
import functools
import hashlib
import http.server
import io
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DAY_S = 86400
PINNED = {"mbedtls": "3.6.7", "nanopb": "0.4.9.1", "cmocka": "1.1.7"}
# How the test's releases are looked for, whatever tools/build/pins has come to.
SETTINGS = {
    "mbedtls": {"SUITES": "forky sid trixie", "SERIES": "3.6", "OLDEST": "3.6.6", "OTHER": "",
                "OLDER": "it cannot connect to some"},
    "nanopb": {"SUITES": "trixie forky sid", "SERIES": "0.4", "OLDEST": "0.4.9.1", "OTHER": "compare", "OLDER": ""},
    "cmocka": {"SUITES": "trixie forky sid", "SERIES": "1.1", "OLDEST": "1.1.7", "OTHER": "", "OLDER": ""},
}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


@functools.lru_cache(maxsize=None)
def archive(name, version, extra=""):
    """Bytes of a release's archive, always the same for the same arguments."""
    text = f"/* {name} {version} {extra} */\n".encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        entry = tarfile.TarInfo(f"{name}-{version}/library/version.c")
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text))
    return subprocess.run(["gzip", "-nc"], input=out.getvalue(), stdout=subprocess.PIPE, check=True).stdout


class Keys:
    """Two signing keys; a machine trusts the first."""

    def __init__(self, folder):
        self.home = pathlib.Path(folder) / "gnupg"
        self.home.mkdir(mode=0o700)
        self.trusted = self._generate("trusted")
        self.foreign = self._generate("foreign")
        self.ring = pathlib.Path(folder) / "trusted.gpg"
        self.ring.write_bytes(self._gpg("--export", self.trusted))

    def _gpg(self, *words, data=b""):
        return subprocess.run(["gpg", "--homedir", str(self.home), "--batch", "--quiet", "--pinentry-mode", "loopback",
                               "--passphrase", "", *words], input=data, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=True).stdout

    def _generate(self, name):
        address = f"{name}@mirror.invalid"
        self._gpg("--quick-generate-key", address, "ed25519", "sign", "never")
        return address

    def clearsign(self, key, text):
        return self._gpg("--local-user", key, "--clearsign", data=text.encode())

    def close(self):
        subprocess.run(["gpgconf", "--homedir", str(self.home), "--kill", "all"], check=False)


class Mirror:
    """Serves a folder: debian/ is the archive, upstream/ the releases. Counts the requests; those with `failing` in
    their path fail."""

    def __init__(self, folder, keys):
        self.folder = pathlib.Path(folder)
        self.keys = keys
        self.requests = 0
        self.failing = None
        mirror = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *words):
                super().__init__(*words, directory=str(mirror.folder))

            def do_GET(self):
                mirror.requests += 1
                if mirror.failing and mirror.failing in self.path:
                    self.send_error(503)
                else:
                    super().do_GET()

            def log_message(self, *_words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self):
        """The port refuses connections from then on."""
        with contextlib.suppress(OSError):
            self.server.shutdown()
            self.server.server_close()

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def release(self, name, version, data=None):
        """An archive at upstream."""
        self.write(f"upstream/{name}-{version}.tar.gz", archive(name, version) if data is None else data)

    def suite(self, suite, packages, age_days=1, key="trusted"):
        """A suite, signed `age_days` ago for a week. packages: (name, version, bytes of its archive) each; key: None
        leaves it unsigned."""
        sources = ""
        for name, version, data in packages:
            folder = f"pool/{suite}/{name}"
            files = {f"{name}_{version}-1.dsc": b"no one reads this\n", f"{name}_{version}.orig.tar.gz": data}
            lines = "".join(f" {sha256(data)} {len(data)} {file}\n" for file, data in files.items())
            md5 = "".join(f" {hashlib.md5(data).hexdigest()} {len(data)} {file}\n" for file, data in files.items())
            for file, data in files.items():
                self.write(f"debian/{folder}/{file}", data)
            sources += (f"Package: {name}\nBinary: {name}\nVersion: {version}-1\nArchitecture: any\n"
                        f"Format: 3.0 (quilt)\nDirectory: {folder}\nFiles:\n{md5}Checksums-Sha256:\n{lines}\n")
        index = sources.encode()
        self.write(f"debian/dists/{suite}/main/source/Sources", index)
        signed = time.time() - age_days * DAY_S
        dates = {"Date": signed}
        # Like Debian: only a stable release has no end.
        if suite != "trixie":
            dates["Valid-Until"] = signed + 7 * DAY_S
        text = (f"Origin: Debian\nSuite: {suite}\nCodename: {suite}\nComponents: main\nArchitectures: amd64\n"
                + "".join(f"{field}: {email.utils.formatdate(when, usegmt=True)}\n" for field, when in dates.items())
                + f"SHA256:\n {sha256(index)} {len(index)} main/source/Sources\n")
        if key is None:
            self.write(f"debian/dists/{suite}/Release", text.encode())
        else:
            self.write(f"debian/dists/{suite}/InRelease", self.keys.clearsign(getattr(self.keys, key), text))

    def spoil(self, suite, name, version):
        """Other bytes in the pool than what the suite signs for, of the same length."""
        path = self.folder / f"debian/pool/{suite}/{name}/{name}_{version}.orig.tar.gz"
        path.write_bytes(bytes(path.stat().st_size))


class Machine:
    """A clone of the tools with pins of its own, on a machine whose apt knows one mirror."""

    def __init__(self, folder, root, url, keys, rules):
        self.root = pathlib.Path(folder) / "clone"
        self.cache = pathlib.Path(folder) / "cache"
        self.url = url
        self.apt = pathlib.Path(folder) / "apt.conf"
        shutil.copytree(root / "tools/make", self.root / "tools/make")
        (self.root / "tools/build").mkdir()
        for name in ("deps.sh", "deps_source.sh", "build_mbedtls.sh"):
            shutil.copy(root / "tools/build" / name, self.root / "tools/build")
        shutil.copy(root / "Makefile", self.root)
        self.pin(root, rules)
        codename = next(line.split("=")[1].strip('"') for line in pathlib.Path("/etc/os-release").read_text().split()
                        if line.startswith("VERSION_CODENAME="))
        sources = pathlib.Path(folder) / "sources.list"
        sources.write_text(f"deb {url}/debian {codename} main\n")
        nothing = "/dev/null"
        self.config = [f'Dir::Etc::sourcelist "{sources}";',
                       *(f'Dir::Etc::{part} "{nothing}";' for part in ("sourceparts", "parts", "main"))]
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8",
                    "NEURON_DRA_CACHE": str(self.cache), "NEURON_DRA_KEYRING": str(keys.ring),
                    "APT_CONFIG": str(self.apt)}
        self.configure()

    def configure(self, *lines):
        """Further lines of the machine's own apt configuration."""
        self.apt.write_text("\n".join([*self.config, *lines]) + "\n")

    def pin(self, root, rules):
        """The project's pins, with other rules for some names: `accept` as version -> bytes, and settings."""
        text = (root / "tools/build/pins").read_text()
        for name, (accept, settings) in rules.items():
            pins = " ".join(f"{version}:{sha256(data)}" for version, data in accept.items())
            settings = {**settings, "ACCEPT": pins, "UPSTREAM": f"{self.url}/upstream/{name}-VERSION.tar.gz"}
            text += "".join(f'{name.upper()}_{key}="{value}"\n' for key, value in settings.items())
        (self.root / "tools/build/pins").write_text(text)

    def start(self, group, **variables):
        """tools/build/deps.sh of one group."""
        return subprocess.Popen(["tools/build/deps.sh", group], cwd=self.root, env={**self.env, **variables}, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, group, **variables):
        """(exit code, what it printed, lines of its log)."""
        process = self.start(group, **variables)
        out, err = process.communicate(timeout=120)
        return process.returncode, out.strip(), err.splitlines()

    def start_make(self, *words):
        """The project's Makefile, in a process group of its own."""
        return subprocess.Popen(["make", "--no-print-directory", "-s", *words], cwd=self.root, env=self.env, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True)

    def make_variable(self, name):
        """What the project's Makefile makes of a variable."""
        process = self.start_make(f"--eval=print: ; @echo '$({name})'", "print")
        out, err = process.communicate(timeout=120)
        if process.returncode:
            raise RuntimeError(f"make print of {name}: {err}")
        return out.strip()


class MachineTest(unittest.TestCase):
    """Tests on a machine that knows one mirror."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.keys = Keys(folder.name)
        cls.addClassCleanup(cls.keys.close)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.mirror = Mirror(self.folder / "mirror", self.keys)
        self.addCleanup(self.mirror.close)
        self.machine = self.make_machine("machine")

    def make_machine(self, name):
        (self.folder / name).mkdir()
        return Machine(self.folder / name, ROOT, self.mirror.url, self.keys,
                       {name: ({version: archive(name, version)}, SETTINGS[name])
                        for name, version in PINNED.items()})

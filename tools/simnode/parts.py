# SPDX-License-Identifier: Apache-2.0
"""The programs of the demo: stand-in kubelet and API server, and the agent as it is shipped.

Owns their processes and pipes. Every wait has a bound; nothing sleeps. A program is ended by its
own process, and the stand-ins end by themselves when this one does, because their stdin closes.
"""

import http.client
import pathlib
import re
import subprocess
import threading
import time

from screen import Surprise

NOTICE_MS = "10"  # the real kubelet looks for new sockets once a second
LOOK_S = 0.2  # how often a wait looks whether the other program has ended
DRIVER_VERSION = "2.30.2.0"  # of a kernel module that reports the health of devices
LIMIT_S = 60.0  # for anything that takes milliseconds on an idle machine


class Program:
    """A process whose output is read line by line as it comes."""

    def __init__(self, name, command, output="stdout", env=None):
        self.name = name
        self.lines = []
        self.read = 0
        self.changed = threading.Condition()
        self.ended = False
        self.begun = time.monotonic()
        pipes = {"stdin": subprocess.PIPE, output: subprocess.PIPE}
        try:
            self.process = subprocess.Popen(command, env=env, text=True, errors="replace", **pipes)
        except OSError as error:
            raise Surprise(f"{command[0]}: {error.strerror}: build it with 'make demo'") from None
        self.stream = getattr(self.process, output)
        self.reader = threading.Thread(target=self.collect, daemon=True)
        self.reader.start()

    def collect(self):
        for line in self.stream:
            with self.changed:
                self.lines.append((time.monotonic(), line.rstrip("\n")))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def find(self, test, since=0, about=None):
        """(index, time, line) of the first line from `since` on that passes; waits for it.

        `about`: the program of which the line will tell; its end is the end of waiting.
        """
        deadline = time.monotonic() + LIMIT_S
        with self.changed:
            at = since
            while True:
                for index in range(at, len(self.lines)):
                    if test(self.lines[index][1]):
                        return index, *self.lines[index]
                at = len(self.lines)
                left = deadline - time.monotonic()
                if self.ended or left <= 0:
                    raise Surprise(f"{self.name} {'ended' if self.ended else 'was silent'} before it said "
                                   f"what was expected. Its last lines:\n{self.tail()}")
                if about and about.ended:
                    raise Surprise(f"{about.name} ended before {self.name} heard of it.")
                self.changed.wait(min(left, LOOK_S) if about else left)

    def wait_for(self, start, since=0):
        """Rest of the first line from `since` on that begins so."""
        return self.find(lambda line: line.startswith(start), since)[2][len(start):]

    def mark(self):
        with self.changed:
            return len(self.lines)

    def tail(self, count=12):
        return "\n".join(f"  {line}" for _, line in self.lines[-count:]) or "  (nothing)"

    def tell(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise Surprise(f"{self.name} has ended. Its last lines:\n{self.tail()}") from None

    def exit_code(self):
        """Waits for the end of a process that was asked to end."""
        try:
            code = self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            raise Surprise(f"{self.name} did not end in {LIMIT_S:.0f} s") from None
        self.reader.join(LIMIT_S)
        return code

    def end(self):
        """Whatever happened before: afterwards it is gone."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join(1)
        for stream in (self.process.stdin, self.stream):
            try:
                stream.close()
            except BrokenPipeError:
                pass


class ApiServer(Program):
    def __init__(self, program, certificate, key, token):
        super().__init__("the API server", [str(program), "--cert", certificate, "--key", key,
                                            "--token", token])
        self.port = int(self.wait_for("listening "))

    def command(self, line):
        """Runs one command; its `object` lines, decoded."""
        since = self.mark()
        self.tell(line)
        end, _, answer = self.find(lambda text: text.startswith(("done", "failed ")), since)
        if answer != "done":
            raise Surprise(f"the API server refused {line.split()[:2]}: {answer}")
        found = [line for _, line in self.lines[since:end] if line.startswith("object ")]
        return [bytes.fromhex(line[len("object "):]) for line in found]

    def put(self, kind, message):
        self.command(f"put {kind} {message.SerializeToString().hex()}")

    def delete(self, kind, namespace, name):
        self.command(f"delete {kind} {namespace} {name}")

    def stored(self, kind, message_class):
        return [message_class.FromString(data) for data in self.command(f"show {kind}")]

    def requests(self, method, part):
        """Answered requests of that method with `part` in the path, as (path, code)."""
        self.command("show nodes")  # its answer comes behind the lines of all requests before
        found = [line.split()[1:] for _, line in self.lines if line.startswith("request ")]
        return [(path, int(code)) for verb, path, code in found if verb == method and part in path]


class Kubelet(Program):
    def __init__(self, program, registry):
        super().__init__("the kubelet", [str(program), "--registry", registry,
                                         "--notice-ms", NOTICE_MS])

    def registered(self, agent, since=0):
        """(time, driver, endpoint, service) of the agent's registration."""
        _, when, line = self.find(lambda text: text.startswith("registered "), since, agent)
        return (when, *line.split()[1:])

    def call(self, method, driver, *claims):
        """(reply bytes, the kubelet's words for what is wrong, seconds)."""
        since = self.mark()
        begin = time.monotonic()
        names = " ".join(f"{claim.metadata.namespace} {claim.metadata.name} {claim.metadata.uid}"
                         for claim in claims)
        self.tell(f"{method} {driver} {names}")
        _, _, called = self.find(lambda text: text.startswith(("called ", "failed ")), since)
        if called.startswith("failed "):
            raise Surprise(f"the kubelet could not call {method}: {called}")
        number = called.split()[1]
        reply = self.wait_for(f"reply {number} ", since)
        _, when, answer = self.find(lambda text: text.startswith(f"answered {number} "), since)
        words = answer.split(" ", 3)
        if words[2] != "0":
            raise Surprise(f"{method}: gRPC status {words[2]}: {words[3]}")
        return bytes.fromhex("" if reply == "-" else reply), words[3], when - begin


class Agent(Program):
    """The agent's own binary, told by flags where everything is."""

    def __init__(self, binary, node_name, folder, kubeconfig):
        self.binary, self.flags = str(binary), [
            "--node-name", node_name, "--kubeconfig", str(kubeconfig),
            "--cdi-root", str(folder / "cdi"),
            "--kubelet-registrar-directory-path", str(folder / "kubelet/plugins_registry"),
            "--kubelet-plugins-directory-path", str(folder / "kubelet/plugins"),
            "--sysfs-root", str(folder / "node/sys"), "--proc-root", str(folder / "node/proc"),
            "--dev-root", str(folder / "node/dev"), "--healthcheck-port", "-1"]
        super().__init__("the agent", [self.binary, "run", *self.flags, "--metrics-port", "0"], output="stderr",
                         env={})

    def port(self):
        """Its metrics port."""
        _, _, line = self.find(lambda text: "metrics on TCP port" in text)
        return int(re.search(r"TCP port (\d+)", line)[1])

    def command(self, name):
        """(exit code, output) of a command beside it."""
        done = subprocess.run([self.binary, name, *self.flags, "--metrics-port", str(self.port())],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={}, timeout=LIMIT_S,
                              check=False)
        return done.returncode, done.stdout

    def page(self, path):
        """(status, text) of a page of its metrics port."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port(), timeout=LIMIT_S)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text


def make_certificates(folder):
    """A certificate authority and a server certificate for 127.0.0.1: (ca, certificate, key)."""
    def run(*arguments):
        done = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                               "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", *arguments],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise Surprise(f"openssl could not make a certificate:\n{done.stderr}")

    names = [str(folder / name) for name in ("ca.crt", "ca.key", "server.crt", "server.key")]
    run("-subj", "/CN=demo authority", "-out", names[0], "-keyout", names[1])
    run("-subj", "/CN=kube-apiserver", "-out", names[2], "-keyout", names[3],
        "-CA", names[0], "-CAkey", names[1], "-addext", "subjectAltName=IP:127.0.0.1",
        "-addext", "basicConstraints=critical,CA:FALSE")
    return names[0], names[2], names[3]


def write_kubeconfig(path, authority, port, token):
    path.write_text(f"""apiVersion: v1
kind: Config
clusters:
- name: demo
  cluster:
    server: https://127.0.0.1:{port}
    certificate-authority: {authority}
contexts:
- name: demo
  context:
    cluster: demo
    user: agent
current-context: demo
users:
- name: agent
  user:
    token: {token}
""")
    path.chmod(0o600)


def make_node(folder, board):
    tool = pathlib.Path(__file__).resolve().parent / "simnode.py"
    done = subprocess.run(["/usr/bin/python3", str(tool), "make", "--board", board, "--dir", str(folder),
                           "--driver-version", DRIVER_VERSION],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Surprise(f"the node could not be simulated: {done.stderr}")

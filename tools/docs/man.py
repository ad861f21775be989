#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the man page neuron-dra-agent.1, in mdoc(7), from what the binary says about itself: --help, and the help of
each command. A flag or command that is added is on the page without a change here.

  tools/docs/man.py --binary build/neuron-dra-agent --output build/neuron-dra-agent.1

Its date is that of SOURCE_DATE_EPOCH or, without it, of the last commit, so that a source gives the same bytes
everywhere.
"""

import argparse
import datetime
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = "neuron-dra-agent"

DESCRIPTION = """\
is a Kubernetes DRA driver for AWS Neuron devices.
It runs on each node that has such devices, publishes them as ResourceSlices, and prepares the claims for them that the
scheduler has allocated to the node.
The command
.Cm run ,
which is the default, is that driver; it runs in the pods of a DaemonSet.
The other commands print what is on the node, and may run beside it.
.Pp
A flag wins over its variable, and of a repeated flag the last one counts.
An empty variable counts as not set, except
.Ev UNHEALTHY_TAINT .
Durations are written as in 1h30m, 10m, 1.5s and 500ms.
"""

# What no help names: the files below the directories of the flags.
FILES = (
    ("/var/lib/kubelet/plugins/neuron.aws.com/claims.store", "the claims that are prepared on this node"),
    ("/var/lib/kubelet/plugins/neuron.aws.com/dra.sock", "the socket for the kubelet's calls"),
    ("/var/lib/kubelet/plugins_registry/neuron.aws.com-reg.sock", "the socket by which the kubelet finds the driver"),
    ("/var/run/cdi/", "a CDI file for each prepared claim"),
    ("/sys/class/neuron_device/", "the devices, as the kernel module neuron shows them"),
    ("/opt/aws/neuron/logical_nc_config", "the LNC of claims that ask for none"),
)


class Flag:
    """A flag of a help text: its word for the value, meaning, variable (or None) and default."""

    def __init__(self, name, value, meaning, variable, default):
        self.name, self.value, self.meaning, self.variable, self.default = name, value, meaning, variable, default


# Both texts may go on in further lines, down to the next flag or an empty line.
FLAG = re.compile(r"^  --(\S+)(?: (\S+))?\n      (.+(?:\n      .+)*?)\n"
                  r"      (?:variable (\w+),\s+)?default: ?(.*(?:\n      .+)*)\n", re.M)
COMMAND = re.compile(r"^  (\w+)((?: \S+)*)\n      (.+)\n", re.M)


def said(binary, *words):
    return subprocess.run([binary, *words], check=True, capture_output=True, text=True).stdout


def flags_of(text):
    found = [Flag(*(" ".join(part.split()) for part in match)) for match in FLAG.findall(text)]
    if len(found) != len(re.findall(r"^  --", text, re.M)):
        raise ValueError("a flag of the help has another form")
    return found


def escape(text):
    """Text that roff shows as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def quoted(text):
    """One argument of a macro; mdoc takes words such as Fl in it for macros unless they are escaped."""
    return '"' + re.sub(r"\b([A-Z][a-z])\b", r"\\&\1", escape(text).replace('"', "\\(dq")) + '"'


def sentence(text):
    return escape(text[0].upper() + text[1:] + ".")


def paragraph(text):
    """Running text with a line for each sentence, as mdoc has it."""
    return escape(re.sub(r"([.?!]) (?=[A-Z])", r"\1\n", " ".join(text.split())))


def date():
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.run(
        ["git", "-C", ROOT, "log", "-1", "--format=%ct"], check=True, capture_output=True, text=True).stdout
    day = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc)
    return day.strftime("%B ") + str(day.day) + day.strftime(", %Y")


def commands_of(binary, text):
    """Lines of the section of commands."""
    part = text[text.index("\nCommands"):text.index("\nFlags")]
    for name, operands, meaning in COMMAND.findall(part):
        yield f".It Cm {name}" + (f" Ar {quoted(operands.strip())}" if operands else "")
        yield sentence(meaning)
        own = said(binary, "help", name)
        if not own.startswith(f"{NAME} {name}: "):
            continue
        more = own[own.index("\n\n") + 2:own.index("Examples:\n")].strip()
        if more:
            yield from (".Pp", paragraph(more))
        examples = own[own.index("Examples:\n") + len("Examples:\n"):own.index("\n\nOptions")]
        yield from (".Pp", "For example:", ".Bd -literal -offset indent")
        yield from (escape(line.strip()) for line in examples.splitlines() if line)
        yield ".Ed"
        known = [f.name for f in flags_of(own)]
        if known:
            yield from (".Pp", "Its flags:")
            yield from (f".Fl \\-{escape(flag)}" + (" ." if flag == known[-1] else " ,") for flag in known)


def options_of(text):
    for flag in flags_of(text):
        yield f".It Fl \\-{escape(flag.name)}" + (f" Ar {quoted(flag.value)}" if flag.value else "")
        yield sentence(flag.meaning)
        yield ("The command run requires it." if flag.default == "required by run"
               else "The default is: " + escape((flag.default or "empty") + "."))
        if flag.variable:
            yield from ("The variable is", f".Ev {flag.variable} .")


def exit_codes(text):
    """The paragraph that ends the help, one sentence a line."""
    codes = text[text.index("\nExit codes: ") + len("\nExit codes: "):].replace("\n", " ").strip()
    return [sentence(part.strip().rstrip(".")) for part in codes.split(";")]


def section(name, lines):
    yield f".Sh {name}"
    yield from lines


def listed(lines):
    yield ".Bl -tag -width Ds"
    yield from lines
    yield ".El"


def page(binary):
    text = said(binary, "--help")
    variables = [f for f in flags_of(text) if f.variable]
    yield '.\\" SPDX-License-' 'Identifier: Apache-2.0'  # in two, so that it is not taken for this file's
    yield f".Dd {date()}"
    yield f".Dt {NAME.upper()} 1"
    yield ".Os Linux"
    yield from section("NAME", [f".Nm {NAME}", ".Nd Kubernetes DRA driver for AWS Neuron devices"])
    yield from section("SYNOPSIS", [f".Nm {NAME}", ".Op Ar command", ".Op Fl \\-flag Ar value", ".Ar ..."])
    yield from section("DESCRIPTION", [".Nm", DESCRIPTION.rstrip("\n")])
    yield from section("COMMANDS", listed(commands_of(binary, text)))
    yield from section("OPTIONS", listed(options_of(text)))
    yield from section("ENVIRONMENT", listed(
        line for f in variables for line in (f".It Ev {f.variable}", "The same as", f".Fl \\-{escape(f.name)} .")))
    yield from section("FILES", listed(
        line for path, meaning in FILES for line in (f".It Pa {escape(path)}", sentence(meaning))))
    yield from section("EXIT STATUS", ["." + "Bl -bullet -compact",
                                       *(line for code in exit_codes(text) for line in (".It", code)), ".El"])
    yield from section("SEE ALSO", [".Xr crictl 1 ,", ".Xr kubectl 1"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--output", required=True)
    args = parser.parse_args()
    pathlib.Path(args.output).write_text("\n".join(page(args.binary)) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""A VEX statement (OpenVEX 0.2.0) for each advisory of tools/gates/advisories.toml.

Owns the translation of a verdict into a status of OpenVEX. Validity is judged by go-vex (vexcheck).
"""
import datetime
import re

import check_advisories

CONTEXT = "https://openvex.dev/ns/v0.2.0"
NAME = "neuron-dra-agent"


def product(root):
    found = re.search(r'^#define AGENT_VERSION "([^"]+)"', (root / "cfg/identity.h").read_text(), re.M)
    return f"pkg:generic/{NAME}@{found[1]}"


def status_of(advisory):
    """Status and justification of a verdict."""
    if advisory["verdict"] == "affected":
        return {"status": "affected", "action_statement": advisory["why"]}
    if advisory["verdict"] == "mitigated":
        justification = "inline_mitigations_already_exist"
    elif advisory.get("absent"):
        justification = "vulnerable_code_not_present"
    else:
        justification = "vulnerable_code_not_in_execute_path"
    return {"status": "not_affected", "justification": justification}


def statement(root, advisory, versions):
    concerned = [v for v in versions if check_advisories.concerns(advisory, v)]
    parts = [{"@id": f"pkg:generic/{advisory['library']}@{version}"} for version in concerned]
    return {"vulnerability": {"name": advisory["id"]},
            "products": [{"@id": product(root), "subcomponents": parts}], **status_of(advisory),
            "impact_statement": " ".join(advisory["why"].split())}


def words(one):
    """A statement's status in words."""
    parts = ", ".join(part["@id"].removeprefix("pkg:generic/") for part in one["products"][0]["subcomponents"])
    return f"{one['status'].replace('_', ' ')} ({one.get('justification', 'affected').replace('_', ' ')}); {parts}"


def document(root, commit):
    listed, versions = check_advisories.read(root)
    looked = datetime.datetime.combine(listed["looked"], datetime.time(), datetime.timezone.utc)
    return {"@context": CONTEXT, "@id": f"urn:{NAME}:vex:{commit}", "author": f"{NAME} maintainers",
            "timestamp": looked.isoformat().replace("+00:00", "Z"), "version": 1,
            "statements": [statement(root, advisory, versions[advisory["library"]]) for advisory in listed["advisory"]]}

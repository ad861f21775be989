# SPDX-License-Identifier: Apache-2.0
"""Makes the certificates and kubeconfigs of one cluster by the openssl command.

Owns the folder pki/ of a run and every kubeconfig's shape. The keys live as long as the run.
"""
import base64
import json
import os
import subprocess

DAYS = "30"
# Client certificates: file name -> subject. The names are the ones Kubernetes' own roles bind.
CLIENTS = {
    "admin": "/O=system:masters/CN=admin",
    "apiserver-kubelet": "/O=system:masters/CN=kube-apiserver-kubelet-client",
    "controller-manager": "/CN=system:kube-controller-manager",
    "scheduler": "/CN=system:kube-scheduler",
}


def _openssl(*args):
    done = subprocess.run(["openssl", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {args[0]} failed:\n{done.stdout}")


def _issue(folder, name, subject, extensions):
    """One key and a certificate signed by the run's own authority."""
    base = os.path.join(folder, name)
    authority = os.path.join(folder, "ca")
    with open(base + ".ext", "w", encoding="ascii") as stream:
        stream.write("basicConstraints=CA:FALSE\nkeyUsage=digitalSignature,keyEncipherment\n"
                     + extensions)
    _openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", subject,
             "-keyout", base + ".key", "-out", base + ".csr")
    _openssl("x509", "-req", "-in", base + ".csr", "-CA", authority + ".crt",
             "-CAkey", authority + ".key", "-CAcreateserial", "-days", DAYS, "-sha256",
             "-extfile", base + ".ext", "-out", base + ".crt")


def make_kubelet(folder, node_name):
    """The certificate of one more kubelet; the name of its files."""
    _issue(folder, node_name, f"/O=system:nodes/CN=system:node:{node_name}",
           "extendedKeyUsage=clientAuth\n")
    return node_name


def make(folder, node_name, service_ip):
    """Everything the control plane and the kubelet need."""
    os.makedirs(folder, mode=0o700)
    authority = os.path.join(folder, "ca")
    _openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=neuron-dra test CA",
             "-days", DAYS, "-sha256", "-addext", "keyUsage=critical,digitalSignature,keyCertSign",
             "-keyout", authority + ".key", "-out", authority + ".crt")
    names = ("DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,"
             f"DNS:kubernetes.default.svc.cluster.local,DNS:localhost,IP:127.0.0.1,IP:{service_ip}")
    _issue(folder, "apiserver", "/CN=kube-apiserver",
           f"extendedKeyUsage=serverAuth\nsubjectAltName={names}\n")
    clients = dict(CLIENTS, kubelet=f"/O=system:nodes/CN=system:node:{node_name}")
    for name, subject in clients.items():
        _issue(folder, name, subject, "extendedKeyUsage=clientAuth\n")
    accounts = os.path.join(folder, "service-accounts")
    _openssl("genrsa", "-out", accounts + ".key", "2048")
    _openssl("rsa", "-in", accounts + ".key", "-pubout", "-out", accounts + ".pub")


def _inline(path):
    with open(path, "rb") as stream:
        return base64.b64encode(stream.read()).decode()


def write_kubeconfig(path, folder, server, user, credentials):
    """A kubeconfig in block style, as kubectl writes it, readable by its owner alone."""
    lines = ["apiVersion: v1", "kind: Config", "clusters:", "- cluster:",
             f"    certificate-authority-data: {_inline(os.path.join(folder, 'ca.crt'))}",
             f"    server: {server}", "  name: neuron-dra", "contexts:", "- context:",
             "    cluster: neuron-dra", f"    user: {user}", f"  name: {user}@neuron-dra",
             f"current-context: {user}@neuron-dra", "preferences: {}", "users:", f"- name: {user}",
             "  user:"] + [f"    {key}: {value}" for key, value in credentials.items()]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write("\n".join(lines) + "\n")


def certificate_credentials(folder, name):
    """The user part of a kubeconfig that authenticates by client certificate."""
    base = os.path.join(folder, name)
    return {"client-certificate-data": _inline(base + ".crt"),
            "client-key-data": _inline(base + ".key")}


def write_json(path, content):
    """A file of configuration for a program that reads YAML or JSON."""
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(content, stream, indent=1)

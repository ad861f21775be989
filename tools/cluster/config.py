# SPDX-License-Identifier: Apache-2.0
"""The text of every configuration file and command line of a one-node cluster.

Owns flags and file contents, and says why where a flag is not what a default installation has. It
never starts anything.
"""
import json
import os

import images
import pki

DRIVER = "neuron.aws.com"
EFA_DRIVER, EFA_FLAG = "dra.net", "--efa=true"     # the second one, and the agent's flag for it
API_VERSIONS = ("v1", "v1beta2", "v1beta1")     # of resource.k8s.io, newest first
FIRST_WITH_V1 = (1, 34)
NETWORK_LAYERS = ("nn-1111111111111111a", "nn-2222222222222222b", "nn-3333333333333333c")


def quoted(text):
    """A TOML basic string; JSON's escapes are a subset of TOML's."""
    return json.dumps(text)


def containerd_toml(cluster):
    """containerd's configuration, version 3."""
    runtime = "io.containerd.cri.v1.runtime"
    image = "io.containerd.cri.v1.images"
    return f"""version = 3
root = {quoted(cluster.path("containerd"))}
state = {quoted(cluster.short("containerd"))}
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.erofs", "io.containerd.nri.v1.nri", "io.containerd.internal.v1.opt"]

[grpc]
  address = {quoted(cluster.short("containerd.sock"))}

[plugins.'{image}']
  snapshotter = "overlayfs"
  [plugins.'{image}'.pinned_images]
    sandbox = "{images.PAUSE_IMAGE}"

[plugins.'{runtime}']
  enable_cdi = true
  cdi_spec_dirs = [{quoted(cluster.path("cdi"))}]
  # Without CAP_SYS_RESOURCE a lower oom_score_adj cannot be written and every sandbox would fail.
  restrict_oom_score_adj = true
  # Network namespaces then vanish with the node's private mount namespace.
  netns_mounts_under_state_dir = true
  [plugins.'{runtime}'.containerd]
    default_runtime_name = "runc"
    [plugins.'{runtime}'.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins.'{runtime}'.containerd.runtimes.runc.options]
        BinaryName = {quoted(cluster.programs["runc"])}
        SystemdCgroup = false
  [plugins.'{runtime}'.cni]
    bin_dirs = [{quoted(os.path.dirname(cluster.programs["ptp"]))}]
    conf_dir = {quoted(cluster.path("cni"))}
    use_internal_loopback = true
"""


def cni_conflist(cluster):
    """A point-to-point link per pod without masquerading: pods need no way out of the machine, only
    one to the service address of the API server, which the machine has."""
    return {"cniVersion": "1.0.0", "name": cluster.cgroup, "plugins": [
        {"type": "ptp", "ipMasq": False,
         "ipam": {"type": "host-local", "dataDir": cluster.short("ipam"),
                  "ranges": [[{"subnet": f"10.201.{cluster.slot}.0/24"}]],
                  "routes": [{"dst": "0.0.0.0/0"}]}}]}


def kubelet_config(cluster):
    """The kubelet's configuration file."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False},
                           "x509": {"clientCAFile": os.path.join(cluster.secrets, "ca.crt")}},
        "authorization": {"mode": "AlwaysAllow"},
        "port": cluster.port("kubelet"), "readOnlyPort": 0,
        "healthzBindAddress": "127.0.0.1", "healthzPort": cluster.port("kubelet-health"),
        "containerRuntimeEndpoint": "unix://" + cluster.short("containerd.sock"),
        "cgroupDriver": "cgroupfs", "cgroupRoot": "/" + cluster.cgroup, "failCgroupV1": False,
        "enforceNodeAllocatable": [], "failSwapOn": False, "localStorageCapacityIsolation": False,
        "evictionHard": {"memory.available": "10Mi", "nodefs.available": "1%",
                         "nodefs.inodesFree": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
        "makeIPTablesUtilChains": False, "resolvConf": "", "clusterDNS": [cluster.service_ip(10)],
        "clusterDomain": "cluster.local", "podLogsDir": cluster.short("pod-logs"),
        "volumePluginDir": cluster.short("volume-plugins"),
        # A pod whose claim was refused is tried again that late: a minute and a half by default.
        "syncFrequency": "10s",
        "nodeStatusUpdateFrequency": "5s", "logging": {"format": "text"},
    }


def etcd_args(cluster):
    """etcd, without waiting for the disk: the data lives as long as the run."""
    client = f"http://127.0.0.1:{cluster.port('etcd')}"
    peer = f"http://127.0.0.1:{cluster.port('etcd-peer')}"
    return [cluster.programs["etcd"], "--name=only", "--unsafe-no-fsync", "--log-level=warn",
            f"--data-dir={cluster.path('etcd')}", f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=only={peer}"]


def feature_gates(cluster):
    """The flag that every program of Kubernetes takes."""
    return [f"--feature-gates={cluster.feature_gates}"] if cluster.feature_gates else []


def runtime_config(k8s, served, group):
    """The flag by which an API server serves just these versions of resource.k8s.io, and an alpha
    version of another group. One that the release does not know must not be named, not even to
    switch it off."""
    release = tuple(int(number) for number in k8s.split(".")[:2])
    known = [version for version in API_VERSIONS if version != "v1" or release >= FIRST_WITH_V1]
    chosen = [f"resource.k8s.io/{version}={'true' if version in served else 'false'}" for version in known]
    return "--runtime-config=" + ",".join(chosen + ([f"{group}=true"] if group else []))


def apiserver_args(cluster):
    """The API server of the cluster's own programs."""
    return [*_apiserver_args(cluster, "apiserver"), "--authorization-mode=Node,RBAC",
            runtime_config(cluster.k8s, cluster.served, cluster.serve_group)]


def agent_apiserver_args(cluster):
    """A second API server on the same etcd, for the agent, kubectl and the tests. Scheduler,
    controllers and kubelet of a release work with one version of resource.k8s.io alone, v1beta1
    before 1.34 and v1 since; so does the authorizer of nodes. An API server without that version
    can serve everybody else."""
    return [*_apiserver_args(cluster, "agent-apiserver"), "--authorization-mode=RBAC",
            runtime_config(cluster.k8s, cluster.agent_served, cluster.serve_group)]


def _apiserver_args(cluster, port):
    """An API server on loopback. It asks the kubelet by address and with its own certificate, else
    `kubectl logs` would look the node's name up in DNS."""
    secrets = cluster.path("pki")
    return [cluster.programs["kube-apiserver"], "--bind-address=127.0.0.1",
            f"--secure-port={cluster.port(port)}", *feature_gates(cluster),
            f"--etcd-servers=http://127.0.0.1:{cluster.port('etcd')}",
            f"--tls-cert-file={secrets}/apiserver.crt",
            f"--tls-private-key-file={secrets}/apiserver.key",
            f"--client-ca-file={secrets}/ca.crt", f"--cert-dir={secrets}",
            f"--kubelet-client-certificate={secrets}/apiserver-kubelet.crt",
            f"--kubelet-client-key={secrets}/apiserver-kubelet.key",
            "--kubelet-preferred-address-types=InternalIP",
            f"--service-cluster-ip-range=10.202.{cluster.slot}.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={secrets}/service-accounts.pub",
            f"--service-account-signing-key-file={secrets}/service-accounts.key",
            "--enable-admission-plugins=NodeRestriction",
            "--endpoint-reconciler-type=none", "--allow-privileged=true", "--profiling=false"]


def controller_manager_args(cluster):
    """The controller manager, alone and without a port of its own."""
    return [cluster.programs["kube-controller-manager"], *feature_gates(cluster),
            f"--kubeconfig={cluster.path('controller-manager.kubeconfig')}",
            "--use-service-account-credentials", "--leader-elect=false", "--secure-port=0",
            f"--root-ca-file={cluster.path('pki', 'ca.crt')}",
            f"--service-account-private-key-file={cluster.path('pki', 'service-accounts.key')}"]


def scheduler_args(cluster):
    """The scheduler, alone and without a port of its own."""
    return [cluster.programs["kube-scheduler"], *feature_gates(cluster),
            f"--kubeconfig={cluster.path('scheduler.kubeconfig')}",
            "--leader-elect=false", "--secure-port=0"]


def containerd_args(cluster):
    """containerd by its file alone."""
    return [cluster.programs["containerd"], "--config", cluster.path("containerd.toml")]


def kubelet_args(cluster):
    """The kubelet. No --node-ip: a loopback one leaves the node without addresses."""
    labels = ",".join(f"{key}={value}" for key, value in node_labels(cluster.board).items())
    return [cluster.programs["kubelet"], f"--config={cluster.path('kubelet.json')}",
            *feature_gates(cluster),
            f"--kubeconfig={cluster.path('kubelet.kubeconfig')}",
            f"--root-dir={cluster.short('kubelet')}", f"--cert-dir={cluster.short('kubelet-pki')}",
            f"--hostname-override={cluster.node_name}", f"--node-labels={labels}"]


def node_labels(board):
    """The labels that a cloud's controllers put on such a node."""
    labels = {"node.kubernetes.io/instance-type": board}
    for number, layer in enumerate(NETWORK_LAYERS, 1):
        labels[f"topology.k8s.aws/network-node-layer-{number}"] = layer
    return labels


def agent_args(cluster):
    """The agent as a process of the host on the simulated node."""
    root = cluster.short("kubelet")
    return [cluster.agent, "run", "--node-name", cluster.node_name,
            "--kubeconfig", cluster.path("agent.kubeconfig"), "--cdi-root", cluster.path("cdi"),
            "--kubelet-registrar-directory-path", os.path.join(root, "plugins_registry"),
            "--kubelet-plugins-directory-path", os.path.join(root, "plugins"),
            "--sysfs-root", cluster.path("node", "sys"),
            "--proc-root", cluster.path("node", "proc"),
            "--dev-root", cluster.path("node", "dev"),
            "--healthcheck-port", str(cluster.port("agent-health")), "--metrics-port", "-1"]


def write_node_files(cluster):
    """What must lie there before a node's own programs start."""
    for name in ("cdi", "cni", "logs"):
        os.makedirs(cluster.path(name), exist_ok=True)
    pki.write_json(cluster.path("cni", "10-ptp.conflist"), cni_conflist(cluster))
    pki.write_json(cluster.path("kubelet.json"), kubelet_config(cluster))
    with open(cluster.path("containerd.toml"), "w", encoding="utf-8") as stream:
        stream.write(containerd_toml(cluster))


def write_files(cluster):
    """Everything that must lie there before the first program starts."""
    write_node_files(cluster)
    secrets = cluster.secrets
    pki.make(secrets, cluster.node_name, cluster.service_ip(1))
    for name, user in (("admin", "admin"), ("controller-manager", "controller-manager"),
                       ("scheduler", "scheduler"), ("kubelet", "kubelet")):
        path = cluster.kubeconfig if name == "admin" else cluster.path(name + ".kubeconfig")
        server = cluster.agent_server if name == "admin" else cluster.server
        pki.write_kubeconfig(path, secrets, server, user,
                             pki.certificate_credentials(secrets, name))


def write_joined_files(cluster):
    """The same for a node of another run's cluster: the kubelet alone needs a certificate."""
    write_node_files(cluster)
    name = pki.make_kubelet(cluster.secrets, cluster.node_name)
    pki.write_kubeconfig(cluster.path("kubelet.kubeconfig"), cluster.secrets, cluster.server,
                         "kubelet", pki.certificate_credentials(cluster.secrets, name))

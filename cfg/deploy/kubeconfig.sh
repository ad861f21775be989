#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints a kubeconfig for an agent outside a pod: the API server and CA of the current context, and a token of the
# agent's service account (cfg/deploy/manifests/rbac.yaml) that is bound to the Node, as the token of a pod is. It
# expires after DURATION (24h; the API server may shorten it). Before that, print the file again, put it in the old
# one's place by mv, and restart the agent.
#
#   kubeconfig.sh NODE
set -eu

node=${1:?"usage: kubeconfig.sh NODE (its name in kubectl get nodes)"}
namespace=neuron-dra-driver
account=neuron-dra-driver-sa
kubectl=${KUBECTL:-kubectl}

token=$($kubectl create token -n "$namespace" "$account" --duration "${DURATION:-24h}" \
    --bound-object-kind Node --bound-object-name "$node")
server=$($kubectl config view --raw --minify -o 'jsonpath={.clusters[0].cluster.server}')
ca=$($kubectl config view --raw --minify --flatten -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}')
if [ -z "$ca" ]; then
    echo "kubeconfig.sh: the current context names no certificate authority: add one to its cluster" >&2
    exit 1
fi
umask 077
cat <<KUBECONFIG
apiVersion: v1
kind: Config
current-context: agent
contexts:
- name: agent
  context:
    cluster: cluster
    user: agent
clusters:
- name: cluster
  cluster:
    server: $server
    certificate-authority-data: $ca
users:
- name: agent
  user:
    token: $token
KUBECONFIG

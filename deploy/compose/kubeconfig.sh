#!/bin/sh
# Writes the kubeconfigs by which others reach k3s: /kubeconfig/operator.yaml for the other containers, and
# /kubeconfig/host.yaml for this machine, where k3s has the port PORT_KUBERNETES. Safe to repeat.
set -eu

kubeconfig_for() {
  kubectl --kubeconfig=/kubeconfig/kubeconfig.yaml config view --raw >"$1"
  kubectl --kubeconfig="$1" config set-cluster default --server="$2"
}

kubeconfig_for /kubeconfig/operator.yaml https://kubernetes:6443
kubeconfig_for /kubeconfig/host.yaml "https://127.0.0.1:$PORT_KUBERNETES"
# The operator does not run as root.
chmod 0644 /kubeconfig/operator.yaml

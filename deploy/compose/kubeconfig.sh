#!/bin/sh
# Writes the kubeconfig by which the other containers reach k3s: /kubeconfig/operator.yaml. Safe to repeat.
set -eu

kubectl --kubeconfig=/kubeconfig/kubeconfig.yaml config view --raw >/kubeconfig/operator.yaml
kubectl --kubeconfig=/kubeconfig/operator.yaml config set-cluster default --server=https://kubernetes:6443
# The operator does not run as root.
chmod 0644 /kubeconfig/operator.yaml

#!/bin/sh
# Defines PodSet and Xxx in the cluster of KUBECONFIG, and waits until it serves them. Safe to repeat.
set -eu

kubectl apply --server-side --field-manager=durable-operator-crds --filename=/crd
kubectl wait --for=condition=Established --timeout=60s --filename=/crd

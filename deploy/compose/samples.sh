#!/bin/sh
# Applies the samples, and waits until they are as they ask to be. Safe to repeat.
set -eu

kubectl apply --server-side --field-manager=durable-operator-samples --filename=/samples

waited() { kubectl wait --timeout=5m "$@"; }
waited --for=jsonpath='{.metadata.labels.padok\.fr/pod-name}'=my-nginx pod/my-nginx
waited --for=create --namespace=team-1 rolebinding/ad-kubernetes-team-1
waited --for=condition=Ready podset/podset-sample
# The build fetches sources and modules; without a network it waits, and that is for `why` to tell.
waited --for=condition=Ready xxx/xxx-sample || kubectl get xxx xxx-sample --output=wide

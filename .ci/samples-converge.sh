#!/bin/sh
# Waits until the operator has done what deploy/samples ask of it, with whatever cluster kubectl talks to.
set -eux
kubectl wait --for=condition=Ready --timeout=10m podset/podset-sample xxx/xxx-sample
kubectl wait --for=jsonpath='{.metadata.labels.padok\.fr/pod-name}'=my-nginx --timeout=5m pod/my-nginx
kubectl wait --for=create --timeout=5m rolebinding/ad-kubernetes-team-1 --namespace team-1

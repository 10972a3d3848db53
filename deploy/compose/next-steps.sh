#!/bin/sh
# Says where everything is, and what to try. OWN_CLUSTER is empty where Kubernetes is part of the project.
set -eu

cat <<TEXT

  Temporal UI   http://localhost:$PORT_TEMPORAL_UI
  metrics       http://localhost:$PORT_METRICS/metrics

What it does, and why:

  docker compose exec operator node dist/src/ask/main.js get --all-namespaces
TEXT

[ -n "$OWN_CLUSTER" ] || cat <<TEXT
  docker compose exec operator node dist/src/ask/main.js why podset/podset-sample

kubectl, there and here:

  docker compose exec kubernetes kubectl get pod my-nginx --show-labels
  docker compose exec --no-TTY kubernetes cat /kubeconfig/host.yaml >durable-operator.kubeconfig
  export KUBECONFIG=\$PWD/durable-operator.kubeconfig

The end; with --volumes, also of the data:

  docker compose down
TEXT

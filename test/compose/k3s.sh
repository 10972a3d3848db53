#!/bin/bash
# In place of k3s: its control plane, and a simulated node. It keeps its data and writes its kubeconfig where k3s does.
set -eu

names=DNS:localhost,IP:127.0.0.1
for option; do
  case $option in
    server | --disable=*) ;; # nothing of what is disabled is here
    --node-name=*) node=${option#*=} ;;
    --tls-san=*) names=$names,DNS:${option#*=} ;;
    *) echo "k3s.sh has no option $option" >&2; exit 2 ;;
  esac
done

mkdir -p /var/lib/rancher/k3s
cd /var/lib/rancher/k3s
if [ ! -s token ]; then
  openssl req -x509 -newkey rsa:2048 -noenc -days 365 -subj /CN=k3s -addext "subjectAltName=$names" \
    -keyout server.key -out server.crt
  openssl rand -hex 16 >token
fi
echo "$(cat token),admin,admin,system:masters" >tokens.csv

export KUBECONFIG=$K3S_KUBECONFIG_OUTPUT
kubectl config set-cluster default --server=https://127.0.0.1:6443 --certificate-authority=server.crt --embed-certs
kubectl config set-credentials default --token="$(cat token)"
kubectl config set-context default --cluster=default --user=default
kubectl config use-context default

etcd --data-dir=etcd --log-level=warn &
kube-apiserver --etcd-servers=http://127.0.0.1:2379 --tls-cert-file=server.crt --tls-private-key-file=server.key \
  --token-auth-file=tokens.csv --authorization-mode=RBAC --service-cluster-ip-range=10.43.0.0/16 \
  --service-account-issuer=https://kubernetes.default.svc --service-account-key-file=server.key \
  --service-account-signing-key-file=server.key &
trap 'kill $(jobs -p); wait; exit 0' TERM INT

until kubectl get --raw /readyz >/dev/null 2>&1; do
  kill -0 %1 %2
  sleep 0.5
done
kubectl apply --server-side --filename=- <<NODE
apiVersion: v1
kind: Node
metadata:
  name: $node
  annotations: {kwok.x-k8s.io/node: fake}
NODE
kube-controller-manager --kubeconfig="$KUBECONFIG" --service-account-private-key-file=server.key \
  --root-ca-file=server.crt --leader-elect=false &
kube-scheduler --kubeconfig="$KUBECONFIG" --leader-elect=false &
kwok --kubeconfig="$KUBECONFIG" --manage-all-nodes=false --node-lease-duration-seconds=40 \
  --manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake --config=/etc/kwok/stages.yaml &

# One that ends takes the others along: in k3s they are one program.
wait -n
exit 1

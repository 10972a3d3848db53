#!/bin/bash
# In k3s's place: its control plane from the programs that k3s is made of, and a simulated node. It takes those of k3s's
# options that docker-compose.yml has, and no others; it keeps its data and writes its kubeconfig where k3s does.
set -eu

data=/var/lib/rancher/k3s/server
names='DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:localhost,IP:127.0.0.1,IP:10.43.0.1'
node=$(hostname)

[ "${1:-}" = server ] || { echo "k3s: only the command server is here, not ${1:-none}" >&2; exit 2; }
shift
for option; do
  case $option in
    --disable=*) ;; # nothing of it is here
    --node-name=*) node=${option#*=} ;;
    --tls-san=*) names="$names,DNS:${option#*=}" ;;
    *) echo "k3s: $option is not an option here" >&2; exit 2 ;;
  esac
done

mkdir -p "$data/tls" "$data/cred" /etc/rancher/node
umask 077

# The node shows by a password that it is the one of that name, and that one is kept with the cluster.
password=/etc/rancher/node/password
[ -s "$password" ] || openssl rand -hex 16 >"$password"
known=$data/cred/$node.password-hash
hash=$(openssl dgst -sha256 -r "$password" | cut -d' ' -f1)
[ -s "$known" ] || echo "$hash" >"$known"
[ "$(cat "$known")" = "$hash" ] || { echo "k3s: Node password rejected for $node: hash does not match" >&2; exit 1; }

cd "$data/tls"
key() { [ -s "$1.key" ] || openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
# signed NAME SUBJECT EXTENSION…
signed() {
  key "$1"
  openssl req -new -key "$1.key" -subj "$2" |
    openssl x509 -req -CA ca.crt -CAkey ca.key -days 365 -out "$1.crt" -extfile <(printf '%s\n' "${@:3}") 2>/dev/null
}
key service-account
key ca
[ -s ca.crt ] || openssl req -x509 -new -key ca.key -days 365 -subj /CN=k3s-server-ca -out ca.crt
signed api-server /CN=kube-apiserver "subjectAltName=$names"

# kubeconfig NAME COMMON-NAME GROUP FILE
kubeconfig() {
  signed "$1" "/O=$3/CN=$2" extendedKeyUsage=clientAuth
  local flags=(--kubeconfig="$4" --embed-certs=true)
  {
    kubectl config set-cluster default --kubeconfig="$4" --embed-certs=true --server=https://127.0.0.1:6443 --certificate-authority=ca.crt
    kubectl config set-credentials default "${flags[@]}" --client-certificate="$1.crt" --client-key="$1.key"
    kubectl config set-context default --kubeconfig="$4" --cluster=default --user=default
    kubectl config use-context default --kubeconfig="$4"
  } >/dev/null
}
kubeconfig admin system:admin system:masters "${K3S_KUBECONFIG_OUTPUT:-/etc/rancher/k3s/k3s.yaml}"
kubeconfig components system:components system:masters "$data/cred/components.kubeconfig"
export KUBECONFIG=$data/cred/components.kubeconfig

address=$(hostname --all-ip-addresses | cut -d' ' -f1)
etcd --data-dir="$data/db" --log-level=warn &
kube-apiserver --etcd-servers=http://127.0.0.1:2379 --bind-address=0.0.0.0 --advertise-address="$address" \
  --tls-cert-file=api-server.crt --tls-private-key-file=api-server.key --client-ca-file=ca.crt \
  --service-account-issuer=https://kubernetes.default.svc \
  --service-account-key-file=service-account.key --service-account-signing-key-file=service-account.key \
  --authorization-mode=Node,RBAC --service-cluster-ip-range=10.43.0.0/16 &
api_server=$!
trap 'kill $(jobs -p); wait; exit 0' TERM INT

until kubectl get --raw /readyz >/dev/null 2>&1; do
  kill -0 "$api_server" || exit 1
  sleep 0.5
done
kubectl apply --server-side --filename=- <<NODE
apiVersion: v1
kind: Node
metadata:
  name: $node
  annotations: {kwok.x-k8s.io/node: fake}
  labels: {kubernetes.io/os: linux, kubernetes.io/hostname: $node}
NODE

kube-controller-manager --kubeconfig="$KUBECONFIG" --service-account-private-key-file=service-account.key \
  --root-ca-file=ca.crt --leader-elect=false &
kube-scheduler --kubeconfig="$KUBECONFIG" --leader-elect=false &
kwok --kubeconfig="$KUBECONFIG" --manage-all-nodes=false --manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake \
  --node-lease-duration-seconds=40 --node-ip="$address" --cidr=10.42.0.1/16 --config=/etc/kwok/stages.yaml &

# One that ends takes the others along, as they are one program in k3s.
wait -n || true
# shellcheck disable=SC2046 # one word a process
kill $(jobs -p)
wait
exit 1

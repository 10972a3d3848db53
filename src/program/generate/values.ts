import type { Built } from './built.ts';

/** The values of the chart. `install.yaml` has them as they are here. */
export function chartValues({ name, image, version }: Built): string {
  return `\
# The image, with its tag or its digest.
image: ${image}:${version}
imagePullSecrets: []
# One replica acts on changes; all of them work.
replicas: 2

temporal:
  address: temporal-frontend.temporal.svc:7233
  namespace: default
  # A Secret with what Temporal asks for: api-key, or tls.crt and tls.key, and ca.crt for a private authority. The Secret and
  # each of its keys may be missing.
  secret: ${name}-temporal

# Further flags, such as --resync=1m: options.md.
extraArgs: []
# Variables of the operator, such as what its controllers read.
extraEnv: []
envFrom: []
# Files, such as the keys of --payload-keys.
volumes: []
volumeMounts: []

resources:
  requests: { cpu: 100m, memory: 256Mi }
  limits: { memory: 512Mi }
serviceAccountAnnotations: {}
podAnnotations: {}
podLabels: {}
priorityClassName: ''
# Pod Security "restricted" admits them. null takes a field away: on OpenShift, securityContext.runAsUser=null.
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
containerSecurityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
# The image is one for Linux. null takes a label away.
nodeSelector:
  kubernetes.io/os: linux
tolerations: []
affinity: {}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: { matchLabels: { app.kubernetes.io/name: ${name} } }

# Custom resource definitions. They stay when the release is removed.
crds: true
# For the Prometheus operator: a ServiceMonitor with its Service, and the alerts. Some select by labels.
serviceMonitor:
  enabled: false
  labels: {}
`;
}

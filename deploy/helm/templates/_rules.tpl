{{/* What the code generates: the permissions of each controller, and those of people. */}}
{{- define "operator.permissions" -}}
{{ tpl (.Files.Get "files/permissions.yaml") . }}
{{- end }}

{{/* The names of the controllers to run. Every one has rights in the cluster, so somebody has to choose them. */}}
{{- define "operator.controllers" -}}
{{- $all := (include "operator.permissions" . | fromYaml).controllers }}
{{- $problem := "" }}
{{- range .Values.controllers }}
{{- if not (hasKey $all .) }}{{ $problem = printf "there is no controller %q" . }}{{ end }}
{{- end }}
{{- if not .Values.controllers }}{{ $problem = "controllers is empty: choose some, such as --set 'controllers={pod-label,pod-set}'" }}{{ end }}
{{- if $problem }}
{{- $problem = printf "%s\nEvery controller reads what it watches and records Events. Each one also changes this in the cluster:" $problem }}
{{- range $name, $controller := $all }}
{{- $problem = printf "%s\n  %s: %s" $problem $name $controller.changes }}
{{- end }}
{{- fail $problem }}
{{- end }}
{{- .Values.controllers | toYaml }}
{{- end }}

{{/*
The rules of the chosen controllers. Takes a dict:
  root       the chart's scope
  processes  a list of watcher and worker
  scopes     a list of namespaced, which a Role can grant, and cluster, which only a ClusterRole can
*/}}
{{- define "operator.rules" -}}
{{- $all := (include "operator.permissions" .root | fromYaml).controllers }}
{{- $rules := list }}
{{- range $name := (include "operator.controllers" .root | fromYamlArray) }}
{{- range $process := $.processes }}
{{- range $.scopes }}{{ $rules = concat $rules (index $all $name $process .) }}{{ end }}
{{- end }}
{{- end }}
{{- uniq $rules | toYaml }}
{{- end }}

{{/*
The role of a process for the whole cluster, or one in each namespace, and its binding. Takes a dict:
  root       the chart's scope
  account    whose service account has it: controller-manager, watcher or worker
  role       the role's name
  processes  as above
*/}}
{{- define "operator.role" -}}
{{- $accounts := list .account }}
{{- if .root.Values.namespaces }}
{{- $rules := include "operator.rules" (merge (dict "scopes" (list "namespaced")) .) }}
{{- range .root.Values.namespaces }}
{{ include "operator.boundRole" (dict "root" $.root "role" $.role "accounts" $accounts "rules" $rules "namespace" .) }}
{{- end }}
{{- else }}
{{- $rules := include "operator.rules" (merge (dict "scopes" (list "namespaced" "cluster")) .) }}
{{- $limited := and (has "worker" .processes) (include "operator.policies" .root | fromYamlArray) }}
{{ include "operator.boundRole" (dict "root" .root "role" .role "accounts" $accounts "rules" $rules "limited" $limited) }}
{{- end }}
{{- end }}

{{/*
A Role and its RoleBinding, or a ClusterRole and its ClusterRoleBinding. Takes a dict:
  root       the chart's scope
  role       the role's name
  rules      as YAML
  accounts   of the processes that it is bound to
  namespace  for a Role
  limited    whether the admission policies are about these accounts
*/}}
{{- define "operator.boundRole" -}}
{{- $prefix := ternary "" "Cluster" (hasKey . "namespace") }}
{{- $name := include "operator.nameOf" (dict "root" .root "name" .role) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $prefix }}Role
metadata:
  name: {{ $name }}
  {{- with .namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  labels: {{- include "operator.labels" .root | nindent 4 }}
rules: {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $prefix }}RoleBinding
metadata:
  name: {{ $name }}binding
  {{- with .namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  labels:
    {{- include "operator.labels" .root | nindent 4 }}
    {{- if .limited }}
    {{- include "operator.policyLabel" .root | nindent 4 }}
    {{- end }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $prefix }}Role
  name: {{ $name }}
subjects:
{{- range .accounts }}
  - kind: ServiceAccount
    name: {{ include "operator.account" (dict "root" $.root "name" .) | quote }}
    namespace: {{ $.root.Release.Namespace | quote }}
{{- end }}
{{- end }}

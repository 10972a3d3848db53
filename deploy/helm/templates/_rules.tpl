{{/*
The rules of some parts of the chosen controllers, from files/permissions.yaml. Takes a dict:
  root   the chart's scope
  scope  cluster or namespaces
  parts  a list of watcher and worker
*/}}
{{- define "operator.rules" -}}
{{- $all := tpl (.root.Files.Get "files/permissions.yaml") .root | fromYaml }}
{{- $rules := list }}
{{- range $name := (include "operator.controllers" .root | fromYamlArray) }}
{{- if not (hasKey $all $name) }}{{ fail (printf "there is no controller %q" $name) }}{{ end }}
{{- range $part := $.parts }}
{{- $rules = concat $rules (get (get (get $all $name) $.scope) $part) }}
{{- end }}
{{- end }}
{{- toYaml $rules }}
{{- end }}

{{/* The names of those that run. */}}
{{- define "operator.controllers" -}}
{{- $all := tpl (.Files.Get "files/permissions.yaml") . | fromYaml }}
{{- .Values.controllers | default (keys $all | sortAlpha) | toYaml }}
{{- end }}

{{/* What the chosen controllers ask for that no Role gives. */}}
{{- define "operator.rulesBeyondNamespaces" -}}
{{- $all := tpl (.Files.Get "files/permissions.yaml") . | fromYaml }}
{{- $rules := list }}
{{- range $name := (include "operator.controllers" . | fromYamlArray) }}
{{- $rules = concat $rules (get (get $all $name) "beyondNamespaces") }}
{{- end }}
{{- with $rules }}{{ toYaml . }}{{ end }}
{{- end }}

{{/*
A role for the whole cluster, or one in each namespace, and its binding. Takes a dict:
  root     the chart's scope
  account  the service account
  role     the role's name
  parts    as above
*/}}
{{- define "operator.role" -}}
{{- if .root.Values.namespaces }}
{{- range .root.Values.namespaces }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $.role }}
  namespace: {{ . }}
rules: {{- include "operator.rules" (merge (dict "scope" "namespaces") $) | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $.role }}binding
  namespace: {{ . }}
{{ include "operator.bound" (dict "root" $.root "kind" "Role" "role" $.role "accounts" (list $.account)) }}
{{- end }}
{{- else }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .role }}
rules: {{- include "operator.rules" (merge (dict "scope" "cluster") .) | nindent 2 }}
---
{{ include "operator.clusterRoleBinding" (dict "root" .root "role" .role "accounts" (list .account) "limited" (and (has "worker" .parts) (include "operator.policies" .root))) }}
{{- end }}
{{- end }}

{{/* limited: the policies are about its accounts. */}}
{{- define "operator.clusterRoleBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .role }}binding
  {{- if .limited }}
  labels:
    {{ include "operator.policyLabel" .root }}
  {{- end }}
{{ include "operator.bound" (merge (dict "kind" "ClusterRole") .) }}
{{- end }}

{{- define "operator.bound" -}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .role }}
subjects:
{{- range .accounts }}
  - kind: ServiceAccount
    name: {{ . }}
    namespace: {{ $.root.Release.Namespace }}
{{- end }}
{{- end }}

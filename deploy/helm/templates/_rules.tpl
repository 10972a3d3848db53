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
  process  whose service account has it
  role     the role's name, as deploy/base has it
  parts    as above
*/}}
{{- define "operator.role" -}}
{{- $processes := list .process }}
{{- if .root.Values.namespaces }}
{{- $rules := include "operator.rules" (merge (dict "scope" "namespaces") .) }}
{{- range $namespace := .root.Values.namespaces }}
{{- $place := dict "root" $.root "role" $.role "namespace" $namespace }}
---
{{ include "operator.namespacedRole" (merge (dict "rules" $rules) $place) }}
---
{{ include "operator.roleBinding" (merge (dict "processes" $processes) $place) }}
{{- end }}
{{- else }}
---
{{ include "operator.clusterRole" (merge (dict "rules" (include "operator.rules" (merge (dict "scope" "cluster") .))) .) }}
---
{{ include "operator.clusterRoleBinding" (dict "root" .root "role" .role "processes" $processes "limited" (and (has "worker" .parts) (include "operator.policies" .root))) }}
{{- end }}
{{- end }}

{{/* Takes a dict: root, role, and rules as YAML. */}}
{{- define "operator.clusterRole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "operator.nameOf" (dict "root" .root "name" .role) }}
  labels: {{- include "operator.labels" .root | nindent 4 }}
rules: {{- .rules | nindent 2 }}
{{- end }}

{{/* The same, and namespace. */}}
{{- define "operator.namespacedRole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "operator.nameOf" (dict "root" .root "name" .role) }}
  namespace: {{ .namespace }}
  labels: {{- include "operator.labels" .root | nindent 4 }}
rules: {{- .rules | nindent 2 }}
{{- end }}

{{/* Takes a dict: root, role, processes, whose service accounts it is about; and limited: the policies are, too. */}}
{{- define "operator.clusterRoleBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ include "operator.nameOf" (dict "root" .root "name" .role) }}binding
  labels:
    {{- include "operator.labels" .root | nindent 4 }}
    {{- if .limited }}
    {{- include "operator.policyLabel" .root | nindent 4 }}
    {{- end }}
{{ include "operator.bound" (merge (dict "kind" "ClusterRole") .) }}
{{- end }}

{{/* Takes a dict: root, role, namespace, processes. */}}
{{- define "operator.roleBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ include "operator.nameOf" (dict "root" .root "name" .role) }}binding
  namespace: {{ .namespace }}
  labels: {{- include "operator.labels" .root | nindent 4 }}
{{ include "operator.bound" (merge (dict "kind" "Role") .) }}
{{- end }}

{{- define "operator.bound" -}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ include "operator.nameOf" (dict "root" .root "name" .role) }}
subjects:
{{- range .processes }}
  - kind: ServiceAccount
    name: {{ include "operator.account" (dict "root" $.root "name" .) | quote }}
    namespace: {{ $.root.Release.Namespace }}
{{- end }}
{{- end }}

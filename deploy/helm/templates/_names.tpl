{{/* The prefix of all names. It makes them unique in the cluster: Helm does not take over objects of another release. */}}
{{- define "operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains .Chart.Name .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* The name of one object. Takes a dict: root, the chart's scope; and name, without the prefix. */}}
{{- define "operator.nameOf" -}}
{{ include "operator.fullname" .root }}-{{ .name }}
{{- end }}

{{/* The name of a Service or a Job, which may not be longer than a label value. */}}
{{- define "operator.shortNameOf" -}}
{{ include "operator.fullname" .root | trunc (sub 62 (len .name) | int) | trimSuffix "-" }}-{{ .name }}
{{- end }}

{{/* The labels that only this release's Pods have. */}}
{{- define "operator.ofRelease" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/* The labels of every object except the CustomResourceDefinitions. */}}
{{- define "operator.labels" -}}
{{- $own := include "operator.ofRelease" . | fromYaml }}
{{- $own = set $own "app.kubernetes.io/managed-by" .Release.Service }}
{{- $own = set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") }}
{{- merge $own (.Values.commonLabels | default dict) | toYaml }}
{{- end }}

{{/* The labels of the release's Pods. Takes a dict: root, the chart's scope; and component. */}}
{{- define "operator.podLabels" -}}
{{- $own := include "operator.ofRelease" .root | fromYaml }}
{{- $own = set $own "app.kubernetes.io/component" .component }}
{{- merge $own (.root.Values.podLabels | default dict) (.root.Values.commonLabels | default dict) | toYaml }}
{{- end }}

{{/* The name of a service account. Takes a dict: root, the chart's scope; and name, controller-manager, watcher or worker. */}}
{{- define "operator.account" -}}
{{- $name := .root.Values.serviceAccount.name }}
{{- if and $name (eq .name "controller-manager") -}}
{{ $name }}
{{- else if $name -}}
{{ $name }}-{{ .name }}
{{- else -}}
{{ include "operator.nameOf" . }}
{{- end }}
{{- end }}

{{/* The processes, each with its own service account. The first one watches, the last one works. */}}
{{- define "operator.processes" -}}
{{ ternary (list "watcher" "worker") (list "controller-manager") (eq .Values.mode "split") | toYaml }}
{{- end }}

{{- define "operator.taskQueue" -}}
{{ .Values.temporal.taskQueue | default (include "operator.fullname" .) }}
{{- end }}

{{- define "operator.leaseName" -}}
{{ .Values.leaderElection.leaseName | default (include "operator.fullname" .) }}
{{- end }}

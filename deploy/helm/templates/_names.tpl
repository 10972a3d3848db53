{{/* What everything of the release is called by. It is unique in the cluster: Helm takes over nothing of another release. */}}
{{- define "operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains .Chart.Name .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* The name of one object. Takes a dict: root, the chart's scope; and name, as deploy/base has it. */}}
{{- define "operator.nameOf" -}}
{{ include "operator.fullname" .root }}-{{ .name }}
{{- end }}

{{/* The same for Services and Jobs, whose names may not be longer than a label value. */}}
{{- define "operator.shortNameOf" -}}
{{ include "operator.fullname" .root | trunc (sub 62 (len .name) | int) | trimSuffix "-" }}-{{ .name }}
{{- end }}

{{/* What all Pods of the release have, and nobody else's. */}}
{{- define "operator.ofRelease" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/* Of every object, save for the CustomResourceDefinitions. */}}
{{- define "operator.labels" -}}
{{- $own := include "operator.ofRelease" . | fromYaml }}
{{- $own = set $own "app.kubernetes.io/managed-by" .Release.Service }}
{{- $own = set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") }}
{{- merge $own (.Values.commonLabels | default dict) | toYaml }}
{{- end }}

{{/* Those of its Pods. Takes a dict: root, the chart's scope; and component, what they are for. */}}
{{- define "operator.podLabels" -}}
{{- $own := include "operator.ofRelease" .root | fromYaml }}
{{- $own = set $own "app.kubernetes.io/component" .component }}
{{- merge $own (.root.Values.podLabels | default dict) (.root.Values.commonLabels | default dict) | toYaml }}
{{- end }}

{{/* A service account's. Takes a dict: root, the chart's scope; and name, controller-manager, watcher or worker. */}}
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

{{/* What runs: each with a service account of its own; the first one watches, the last one works. */}}
{{- define "operator.processes" -}}
{{ ternary (list "watcher" "worker") (list "controller-manager") (eq .Values.mode "split") | toYaml }}
{{- end }}

{{- define "operator.taskQueue" -}}
{{ .Values.temporal.taskQueue | default (include "operator.fullname" .) }}
{{- end }}

{{- define "operator.leaseName" -}}
{{ .Values.leaderElection.leaseName | default (include "operator.fullname" .) }}
{{- end }}

{{/* The objects of a generated file, under the chart's labels. Takes a dict: root, the chart's scope; and file. */}}
{{- define "operator.generated" -}}
{{- range $text := splitList "\n---\n" (tpl (.root.Files.Get .file) .root) }}
{{- $object := fromYaml $text }}
{{- $_ := set $object.metadata "labels" (merge (include "operator.labels" $.root | fromYaml) $object.metadata.labels) }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}

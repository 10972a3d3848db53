{{/*
The image of a tag, by its digest where that is known: image.digest is that of image.tag, and the chart's own digest is
that of its appVersion. Where image.digest comes without a tag, nobody knows the tag. Takes a dict: root, the chart's scope;
and tag.
*/}}
{{- define "operator.image" -}}
{{- $image := .root.Values.image }}
{{- $digest := ternary (include "operator.digestOfChart" .root) "" (eq .tag .root.Chart.AppVersion) }}
{{- $tag := printf ":%s" .tag }}
{{- if and $image.digest (ne $image.digest $digest) (eq .tag (include "operator.tag" .root)) }}
{{- $digest = $image.digest }}
{{- $tag = ternary $tag "" (not (empty $image.tag)) }}
{{- end }}
{{- $image.repository }}{{ $tag }}{{ with $digest }}@{{ . }}{{ end }}
{{- end }}

{{- define "operator.tag" -}}
{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The digest of the image whose tag is the appVersion. Only a released chart has it. */}}
{{- define "operator.digestOfChart" -}}
{{ with .Chart.Annotations }}{{ index . "durable-operator.dev/image-digest" }}{{ end }}
{{- end }}

{{/* For containers with the operator's image. By default, Kubernetes always pulls the tag latest. */}}
{{- define "operator.pullPolicy" -}}
{{- if or (ne .Values.image.pullPolicy "IfNotPresent") (eq (include "operator.tag" .) "latest") }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}
{{- end }}

{{/* Pod Security "restricted" admits the defaults. */}}
{{- define "operator.podSecurity" -}}
enableServiceLinks: false
securityContext: {{- toYaml .Values.securityContext | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "operator.containerSecurity" -}}
securityContext: {{- toYaml .Values.containerSecurityContext | nindent 2 }}
{{- end }}

{{/* The nodes for a Pod, and its priority. */}}
{{- define "operator.scheduling" -}}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Temporal's address, and the credentials for it. */}}
{{- define "operator.temporalEnv" -}}
- name: TEMPORAL_ADDRESS
  value: {{ .Values.temporal.address | quote }}
- name: TEMPORAL_NAMESPACE
  value: {{ .Values.temporal.namespace | quote }}
{{- with .Values.temporal.tlsSecret }}
- name: TEMPORAL_TLS_CLIENT_CERT_PATH
  value: /etc/durable-operator/temporal-tls/tls.crt
- name: TEMPORAL_TLS_CLIENT_KEY_PATH
  value: /etc/durable-operator/temporal-tls/tls.key
{{- /* If it is missing, a public authority signed the server's certificate, as in Temporal Cloud. */}}
{{- if not (include "operator.tlsCaSource" $) }}
- name: TEMPORAL_TLS_SERVER_CA_CERT_DATA
  valueFrom:
    secretKeyRef:
      name: {{ . | quote }}
      key: ca.crt
      optional: true
{{- end }}
{{- end }}
{{- if include "operator.tlsCaSource" . }}
- name: TEMPORAL_TLS_SERVER_CA_CERT_PATH
  value: /etc/durable-operator/temporal-ca/ca.crt
{{- end }}
{{- end }}

{{/* For Jobs: Temporal's CLI reads no folder, and a Job ends before a key is replaced. */}}
{{- define "operator.temporalApiKeyEnv" -}}
{{- with .Values.temporal.apiKeySecret }}
- name: TEMPORAL_API_KEY
  valueFrom:
    secretKeyRef:
      name: {{ . | quote }}
      key: api-key
{{- end }}
{{- end }}

{{- define "operator.temporalMount" -}}
{{- if .Values.temporal.tlsSecret }}
- name: temporal-tls
  mountPath: /etc/durable-operator/temporal-tls
  readOnly: true
{{- end }}
{{- if include "operator.tlsCaSource" . }}
- name: temporal-ca
  mountPath: /etc/durable-operator/temporal-ca
  readOnly: true
{{- end }}
{{- end }}

{{/* The volume with the certificate of Temporal's authority. Empty unless temporal.tlsCa names it. */}}
{{- define "operator.tlsCaSource" -}}
{{- with .Values.temporal.tlsCa }}
{{- if and .secret .configMap }}{{ fail "temporal.tlsCa: set either secret or configMap" }}{{ end }}
{{- $items := list (dict "key" .key "path" "ca.crt") }}
{{- if .secret }}
{{- dict "secret" (dict "secretName" .secret "items" $items) | toYaml }}
{{- else if .configMap }}
{{- dict "configMap" (dict "name" .configMap "items" $items) | toYaml }}
{{- end }}
{{- end }}
{{- end }}

{{- define "operator.temporalVolume" -}}
{{- with .Values.temporal.tlsSecret }}
- name: temporal-tls
  secret:
    secretName: {{ . | quote }}
{{- end }}
{{- with include "operator.tlsCaSource" . }}
- name: temporal-ca
  {{- . | nindent 2 }}
{{- end }}
{{- end }}

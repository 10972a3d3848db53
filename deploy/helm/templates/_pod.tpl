{{- define "operator.image" -}}
{{ .Values.image.repository }}{{ with .Values.image.digest }}@{{ . }}{{ else }}:{{ include "operator.tag" . }}{{ end }}
{{- end }}

{{- define "operator.tag" -}}
{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* What the Pods of the operator and its Jobs may not do: as they are, Pod Security "restricted". */}}
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

{{/* Where a Pod may run, and before which others. */}}
{{- define "operator.scheduling" -}}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
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

{{/* Where Temporal is, and as whom to go there. */}}
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
# Without it, a public authority has signed the server's certificate, as of Temporal Cloud.
- name: TEMPORAL_TLS_SERVER_CA_CERT_DATA
  valueFrom:
    secretKeyRef:
      name: {{ . }}
      key: ca.crt
      optional: true
{{- end }}
{{- with .Values.temporal.apiKeySecret }}
- name: TEMPORAL_API_KEY
  valueFrom:
    secretKeyRef:
      name: {{ . }}
      key: api-key
{{- end }}
{{- end }}

{{- define "operator.temporalMount" -}}
{{- if .Values.temporal.tlsSecret }}
- name: temporal-tls
  mountPath: /etc/durable-operator/temporal-tls
  readOnly: true
{{- end }}
{{- end }}

{{- define "operator.temporalVolume" -}}
{{- with .Values.temporal.tlsSecret }}
- name: temporal-tls
  secret:
    secretName: {{ . }}
{{- end }}
{{- end }}

{{/*
A Job at a time of the release's life. Takes a dict:
  root       the chart's scope
  component  what it is for, and its name
  suffix     of its name, if any
  image
  args       a list
  hook       when it runs
  account    the service account; none where it asks Temporal only
*/}}
{{- define "operator.job" -}}
{{- $name := .component }}
{{- with .suffix }}{{ $name = printf "%s-%s" $name . }}{{ end }}
{{- $isCheck := eq .hook "pre-delete" }}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "operator.shortNameOf" (dict "root" .root "name" $name) }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels: {{- include "operator.labels" .root | nindent 4 }}
  annotations:
    helm.sh/hook: {{ .hook }}
    {{- if $isCheck }}
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
    # Helm 3.18 and later show it.
    helm.sh/hook-output-log-policy: hook-failed
    {{- else }}
    # A Job cannot be changed, so every upgrade creates it again.
    helm.sh/hook-delete-policy: before-hook-creation
    {{- end }}
spec:
  {{- if $isCheck }}
  backoffLimit: 3
  # Exit status 1 is a result. Another attempt would have the same.
  podFailurePolicy:
    rules:
      - action: FailJob
        onExitCodes:
          operator: In
          values: [1]
  {{- else }}
  backoffLimit: 20
  {{- end }}
  ttlSecondsAfterFinished: 86400
  template:
    metadata:
      labels: {{- include "operator.podLabels" . | nindent 8 }}
    spec:
      restartPolicy: {{ ternary "Never" "OnFailure" $isCheck }}
      {{- with .account }}
      serviceAccountName: {{ . | quote }}
      {{- else }}
      automountServiceAccountToken: false
      {{- end }}
      {{- include "operator.podSecurity" .root | nindent 6 }}
      containers:
        - name: manager
          image: {{ .image }}
          {{- if ne .component "temporal-retention" }}
          {{- include "operator.pullPolicy" .root | nindent 10 }}
          {{- end }}
          args: {{- toYaml .args | nindent 12 }}
          env:
            {{- include "operator.temporalEnv" .root | nindent 12 }}
            {{- include "operator.temporalApiKeyEnv" .root | nindent 12 }}
            {{- with .root.Values.env }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          resources:
            requests:
              cpu: 50m
              memory: 128Mi
            limits:
              memory: 256Mi
          {{- include "operator.containerSecurity" .root | nindent 10 }}
          {{- $mounts := include "operator.temporalMount" .root }}
          {{- if or $mounts .root.Values.extraVolumeMounts }}
          volumeMounts:
            {{- $mounts | nindent 12 }}
            {{- with .root.Values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- end }}
      {{- $volumes := include "operator.temporalVolume" .root }}
      {{- if or $volumes .root.Values.extraVolumes }}
      volumes:
        {{- $volumes | nindent 8 }}
        {{- with .root.Values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      {{- include "operator.scheduling" .root | nindent 6 }}
{{- end }}

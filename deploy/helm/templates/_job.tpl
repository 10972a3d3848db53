{{/*
A Job that asks Temporal only. Takes a dict:
  root       the chart's scope
  name
  component  what it is for
  image
  args       a list
*/}}
{{- define "operator.job" -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/name: durable-operator
  annotations:
    # A Job cannot be changed: every upgrade makes it anew.
    helm.sh/hook: post-install,post-upgrade
    helm.sh/hook-delete-policy: before-hook-creation
spec:
  backoffLimit: 20
  ttlSecondsAfterFinished: 86400
  template:
    metadata:
      labels:
        app.kubernetes.io/name: durable-operator
        app.kubernetes.io/component: {{ .component }}
    spec:
      restartPolicy: OnFailure
      automountServiceAccountToken: false
      {{- include "operator.podSecurity" .root | nindent 6 }}
      containers:
        - name: manager
          image: {{ .image }}
          args: {{- toYaml .args | nindent 12 }}
          env: {{- include "operator.temporalEnv" .root | nindent 12 }}
          resources:
            requests:
              cpu: 50m
              memory: 128Mi
            limits:
              memory: 256Mi
          {{- include "operator.containerSecurity" .root | nindent 10 }}
          {{- with include "operator.temporalMount" .root }}
          volumeMounts: {{- . | nindent 12 }}
          {{- end }}
      {{- with include "operator.temporalVolume" .root }}
      volumes: {{- . | nindent 8 }}
      {{- end }}
{{- end }}

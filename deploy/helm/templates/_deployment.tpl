{{/*
A Deployment of the operator, and its budget. Takes a dict:
  root      the chart's scope
  name      controller-manager, watcher or worker; the service account's, too
  command   run, watch or work
  replicas  none where an autoscaler says how many
  version   the tag of the image, where versions run beside each other
*/}}
{{- define "operator.deployment" -}}
{{- $root := .root }}
{{- with .root }}
{{- $image := include "operator.image" . }}
{{- $name := $.name }}
{{- if $.version }}
{{- $image = printf "%s:%s" .Values.image.repository $.version }}
{{- $name = printf "%s-%s" $.name (include "operator.suffix" $.version) }}
{{- end }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace }}
  labels:
    app.kubernetes.io/name: durable-operator
    control-plane: {{ $.name }}
spec:
  {{- with $.replicas }}
  replicas: {{ . }}
  {{- end }}
  selector:
    matchLabels: {{- include "operator.selector" $ | nindent 6 }}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: durable-operator
        app.kubernetes.io/component: operator
        {{- include "operator.selector" $ | nindent 8 }}
      annotations:
        kubectl.kubernetes.io/default-container: manager
        {{- with .Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ $.name }}
      terminationGracePeriodSeconds: 10
      {{- include "operator.podSecurity" . | nindent 6 }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "operator.selector" $ | nindent 14 }}
      containers:
        - name: manager
          image: {{ $image }}
          {{- if ne .Values.image.pullPolicy "IfNotPresent" }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          {{- end }}
          args: {{- include "operator.args" $ | nindent 12 }}
          env:
            {{- include "operator.temporalEnv" . | nindent 12 }}
            {{- if .Values.payloadKeysSecret }}
            - name: DURABLE_OPERATOR_PAYLOAD_KEYS
              value: /etc/durable-operator/payload-keys/keys
            {{- end }}
            {{- with .Values.env }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            - name: metrics
              containerPort: 9097
              protocol: TCP
            - name: health
              containerPort: 9098
              protocol: TCP
          livenessProbe:
            httpGet:
              path: /healthz
              port: health
            initialDelaySeconds: 15
            periodSeconds: 20
          readinessProbe:
            httpGet:
              path: /readyz
              port: health
            initialDelaySeconds: 2
            periodSeconds: 5
          resources: {{- toYaml .Values.resources | nindent 12 }}
          {{- include "operator.containerSecurity" . | nindent 10 }}
          {{- if include "operator.hasVolumes" . }}
          volumeMounts:
            {{- include "operator.temporalMount" . | nindent 12 }}
            {{- if .Values.payloadKeysSecret }}
            - name: payload-keys
              mountPath: /etc/durable-operator/payload-keys
              readOnly: true
            {{- end }}
            {{- if .Values.metrics.certSecret }}
            - name: metrics-cert
              mountPath: /etc/durable-operator/metrics-cert
              readOnly: true
            {{- end }}
          {{- end }}
      {{- if include "operator.hasVolumes" . }}
      volumes:
        {{- include "operator.temporalVolume" . | nindent 8 }}
        {{- with .Values.payloadKeysSecret }}
        - name: payload-keys
          secret:
            secretName: {{ . }}
        {{- end }}
        {{- with .Values.metrics.certSecret }}
        - name: metrics-cert
          secret:
            secretName: {{ . }}
        {{- end }}
      {{- end }}
      {{- with .Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with .Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
{{- if .Values.podDisruptionBudget }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace }}
  labels:
    app.kubernetes.io/name: durable-operator
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- include "operator.selector" $ | nindent 6 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "operator.hasVolumes" -}}
{{- if or .Values.temporal.tlsSecret .Values.payloadKeysSecret .Values.metrics.certSecret }}yes{{ end }}
{{- end }}

{{- define "operator.selector" -}}
control-plane: {{ .name }}
{{- with .version }}
app.kubernetes.io/version: {{ . | quote }}
{{- end }}
{{- end }}

{{/* 1.2.3 → 1-2-3, which may be part of any name. */}}
{{- define "operator.suffix" -}}
{{ regexReplaceAll "[^a-z0-9]+" (lower .) "-" }}
{{- end }}

{{- define "operator.args" -}}
{{- $values := .root.Values -}}
- {{ .command }}
{{- if ne .command "work" }}
- --enable-leader-election
{{- end }}
- --metrics-addr=:9097
{{- if $values.metrics.secure }}
- --metrics-secure
{{- end }}
{{- if $values.metrics.certSecret }}
- --metrics-cert-dir=/etc/durable-operator/metrics-cert
{{- end }}
{{- with $values.namespaces }}
- --namespaces={{ join "," . }}
{{- end }}
{{- with $values.controllers }}
- --controllers={{ join "," . }}
{{- end }}
{{- if ne $values.roleBinding.clusterRole "edit" }}
- --role-binding-cluster-role={{ $values.roleBinding.clusterRole }}
{{- end }}
{{- if ne $values.roleBinding.prefix "ad-kubernetes-" }}
- {{ printf "--role-binding-prefix=%s" $values.roleBinding.prefix | quote }}
{{- end }}
{{- if ne (join "," $values.roleBinding.excludeNamespaces) "kube-system,kube-public,kube-node-lease" }}
- --exclude-namespaces={{ join "," $values.roleBinding.excludeNamespaces }}
{{- end }}
{{- with include "operator.namespaceSelector" .root }}
- {{ printf "--namespace-selector=%s" . | quote }}
{{- end }}
{{- with .version }}
- --worker-deployment={{ $values.versioning.deploymentName }}
- --worker-build-id={{ . }}
{{- end }}
{{- range $values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/*
A Deployment of the operator, and its budget. Takes a dict:
  root      the chart's scope
  name      controller-manager, watcher or worker
  command   run, watch or work
  replicas  none for an autoscaler to decide
  version   the tag of the image, if versions run beside each other
*/}}
{{- define "operator.deployment" -}}
{{- with .root }}
{{- $image := include "operator.image" (dict "root" . "tag" ($.version | default (include "operator.tag" .))) }}
{{- $name := include "operator.nameOf" $ }}
{{- with $.version }}
{{- $name = printf "%s-%s" $name (include "operator.suffix" .) }}
{{- end }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- merge (dict "control-plane" $.name) (include "operator.labels" . | fromYaml) | toYaml | nindent 4 }}
spec:
  {{- if hasKey $ "replicas" }}
  replicas: {{ $.replicas }}
  {{- end }}
  selector:
    matchLabels: {{- include "operator.selector" $ | nindent 6 }}
  template:
    metadata:
      labels:
        {{- $labels := include "operator.podLabels" (dict "root" . "component" "operator") | fromYaml }}
        {{- merge (include "operator.processLabels" $ | fromYaml) $labels | toYaml | nindent 8 }}
      annotations:
        {{- merge (deepCopy (.Values.podAnnotations | default dict)) (dict "kubectl.kubernetes.io/default-container" "manager") | toYaml | nindent 8 }}
    spec:
      serviceAccountName: {{ include "operator.account" $ | quote }}
      terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
      {{- include "operator.podSecurity" . | nindent 6 }}
      {{- with .Values.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- range . }}
        {{- $selector := dict "labelSelector" (dict "matchLabels" (include "operator.selector" $ | fromYaml)) }}
        - {{- merge (deepCopy .) $selector | toYaml | nindent 10 }}
        {{- end }}
      {{- end }}
      containers:
        - name: manager
          image: {{ $image }}
          {{- include "operator.pullPolicy" . | nindent 10 }}
          {{- with .Values.command }}
          command: {{- toYaml . | nindent 12 }}
          {{- end }}
          args: {{- include "operator.args" $ | nindent 12 }}
          env:
            {{- include "operator.temporalEnv" . | nindent 12 }}
            {{- if .Values.temporal.apiKeySecret }}
            {{- /* A variable would keep the key of the start. */}}
            - name: TEMPORAL_CREDENTIALS_DIR
              value: /etc/durable-operator/temporal-api-key
            {{- end }}
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
            {{- toYaml .Values.livenessProbe | nindent 12 }}
          readinessProbe:
            httpGet:
              path: /readyz
              port: health
            {{- toYaml .Values.readinessProbe | nindent 12 }}
          resources: {{- toYaml .Values.resources | nindent 12 }}
          {{- include "operator.containerSecurity" . | nindent 10 }}
          {{- if include "operator.hasVolumes" . }}
          volumeMounts:
            {{- include "operator.temporalMount" . | nindent 12 }}
            {{- if .Values.temporal.apiKeySecret }}
            - name: temporal-api-key
              mountPath: /etc/durable-operator/temporal-api-key
              readOnly: true
            {{- end }}
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
            {{- with .Values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- end }}
      {{- if include "operator.hasVolumes" . }}
      volumes:
        {{- include "operator.temporalVolume" . | nindent 8 }}
        {{- with .Values.temporal.apiKeySecret }}
        - name: temporal-api-key
          secret:
            secretName: {{ . | quote }}
            items: [{ key: api-key, path: api-key }]
        {{- end }}
        {{- with .Values.payloadKeysSecret }}
        - name: payload-keys
          secret:
            secretName: {{ . | quote }}
        {{- end }}
        {{- with .Values.metrics.certSecret }}
        - name: metrics-cert
          secret:
            secretName: {{ . | quote }}
        {{- end }}
        {{- with .Values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      {{- include "operator.scheduling" . | nindent 6 }}
{{- if .Values.podDisruptionBudget }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace | quote }}
  labels: {{- include "operator.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  # A Pod that is not ready does no work. While Temporal is away, none is, and a node must still be drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "operator.selector" $ | nindent 6 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "operator.hasVolumes" -}}
{{- if or .Values.temporal.tlsSecret .Values.temporal.apiKeySecret (include "operator.tlsCaSource" .) .Values.payloadKeysSecret .Values.metrics.certSecret .Values.extraVolumeMounts .Values.extraVolumes }}yes{{ end }}
{{- end }}

{{- define "operator.selector" -}}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
{{ include "operator.processLabels" . }}
{{- end }}

{{/* The labels that tell the Pods of a Deployment from the release's others. */}}
{{- define "operator.processLabels" -}}
control-plane: {{ .name }}
{{- with .version }}
app.kubernetes.io/version: {{ . | quote }}
{{- end }}
{{- end }}

{{/* 1.2.3 → 1-2-3, which any name may contain. */}}
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
{{- if and (ne .command "work") (ne (include "operator.leaseName" .root) "durable-operator") }}
- --leader-election-name={{ include "operator.leaseName" .root }}
{{- end }}
{{ include "operator.scopeArgs" .root }}
{{- if has "approvals" (include "operator.policies" .root | fromYamlArray) }}
- --approvers-checked
{{- end }}
{{- with include "operator.taskQueueArgs" .root }}
{{ . }}
{{- end }}
{{- with $values.clusterName }}
- {{ printf "--cluster-name=%s" . | quote }}
{{- end }}
{{- if ne $values.roleBinding.clusterRole "edit" }}
- {{ printf "--role-binding-cluster-role=%s" $values.roleBinding.clusterRole | quote }}
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
- {{ printf "--worker-deployment=%s" $values.versioning.deploymentName | quote }}
- {{ printf "--worker-build-id=%s" . | quote }}
{{- end }}
{{- range $values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* Which resources are the operator's. */}}
{{- define "operator.scopeArgs" -}}
- --controllers={{ include "operator.controllers" . | fromYamlArray | join "," }}
{{- with .Values.namespaces }}
- --namespaces={{ join "," . }}
{{- end }}
{{- end }}

{{- define "operator.taskQueueArgs" -}}
{{- $name := include "operator.taskQueue" . }}
{{- if ne $name "durable-operator" }}{{ list (printf "--task-queue=%s" $name) | toYaml }}{{ end }}
{{- end }}

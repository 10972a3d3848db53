{{/* Its name. Empty where there is none: it is of no use without the controller that writes RoleBindings. */}}
{{- define "operator.roleBindingPolicy" -}}
{{- if and .Values.admissionPolicies.roleBindings (has "namespace-role-binding" (include "operator.controllers" . | fromYamlArray)) -}}
durable-operator-role-bindings{{ include "operator.policySuffix" . }}
{{- end }}
{{- end }}

{{/* The same, with the controllers that change Pods. */}}
{{- define "operator.podPolicy" -}}
{{- $controllers := include "operator.controllers" . | fromYamlArray }}
{{- if and .Values.admissionPolicies.pods (or (has "pod-label" $controllers) (has "pod-set" $controllers)) -}}
durable-operator-pods{{ include "operator.policySuffix" . }}
{{- end }}
{{- end }}

{{/* The same, with the controllers that ask for approval before they delete something: pod-label deletes nothing. */}}
{{- define "operator.approvalPolicy" -}}
{{- if and .Values.admissionPolicies.approvals (without (include "operator.controllers" . | fromYamlArray) "pod-label") -}}
durable-operator-approvals{{ include "operator.policySuffix" . }}
{{- end }}
{{- end }}

{{/* Empty where there is no policy at all. */}}
{{- define "operator.policies" -}}
{{ include "operator.roleBindingPolicy" . }}{{ include "operator.podPolicy" . }}{{ include "operator.approvalPolicy" . }}
{{- end }}

{{- define "operator.policySuffix" -}}
{{ if .Values.namespaces }}-{{ .Release.Namespace }}{{ end }}
{{- end }}

{{/* The service account whose process writes. */}}
{{- define "operator.workingAccount" -}}
{{ ternary "worker" "controller-manager" (eq .Values.mode "split") }}
{{- end }}

{{/* What marks the ClusterRoleBinding whose accounts the policies are about. */}}
{{- define "operator.policyLabel" -}}
durable-operator.dev/admission-policy: {{ .Release.Namespace | quote }}
{{- end }}

{{/* The requirements of roleBinding.namespaceSelector, one shape for all: a list of key, operator and values. */}}
{{- define "operator.namespaceRequirements" -}}
{{- $requirements := list }}
{{- range $key, $value := .Values.roleBinding.namespaceSelector.matchLabels }}
{{- $requirements = append $requirements (dict "key" $key "operator" "In" "values" (list $value)) }}
{{- end }}
{{- concat $requirements (.Values.roleBinding.namespaceSelector.matchExpressions | default list) | toJson }}
{{- end }}

{{/* As the option --namespace-selector takes it. */}}
{{- define "operator.namespaceSelector" -}}
{{- $terms := list }}
{{- range (include "operator.namespaceRequirements" . | fromJsonArray) }}
{{- if eq .operator "Exists" }}
{{- $terms = append $terms .key }}
{{- else if eq .operator "DoesNotExist" }}
{{- $terms = append $terms (printf "!%s" .key) }}
{{- else if eq (len .values) 1 }}
{{- $terms = append $terms (printf "%s%s%s" .key (ternary "=" "!=" (eq .operator "In")) (first .values)) }}
{{- else }}
{{- $terms = append $terms (printf "%s %s (%s)" .key (lower .operator) (join "," .values)) }}
{{- end }}
{{- end }}
{{- join "," $terms }}
{{- end }}

{{/* The same as an expression of the policy for RoleBindings. */}}
{{- define "operator.namespaceSelected" -}}
{{- $terms := list }}
{{- range (include "operator.namespaceRequirements" . | fromJsonArray) }}
{{- $label := printf "namespaceObject.metadata.?labels[?%s]" (toJson .key) }}
{{- $holds := printf "%s.hasValue()" $label }}
{{- if has .operator (list "In" "NotIn") }}
{{- $holds = printf "%s.optMap(value, value in %s).orValue(false)" $label (toJson .values) }}
{{- end }}
{{- $terms = append $terms (ternary $holds (printf "!%s" $holds) (has .operator (list "In" "Exists"))) }}
{{- end }}
{{- join " && " $terms | default "true" }}
{{- end }}

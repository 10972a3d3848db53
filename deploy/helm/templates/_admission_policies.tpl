{{/* The policies to put in force, by the end of their names: a list. Each needs a controller whose writes it limits. */}}
{{- define "operator.policies" -}}
{{- $controllers := include "operator.controllers" . | fromYamlArray }}
{{- $policies := list }}
{{- if and .Values.admissionPolicies.roleBindings (has "namespace-role-binding" $controllers) }}
{{- $policies = append $policies "role-bindings" }}
{{- end }}
{{- if and .Values.admissionPolicies.pods (or (has "pod-label" $controllers) (has "pod-set" $controllers)) }}
{{- $policies = append $policies "pods" }}
{{- end }}
{{- /* Only pod-label deletes nothing, and so never asks for approval. */}}
{{- if and .Values.admissionPolicies.approvals (without $controllers "pod-label") }}
{{- $policies = append $policies "approvals" }}
{{- end }}
{{- toYaml $policies }}
{{- end }}

{{/* Marks the ClusterRoleBinding whose service accounts the policies are about. */}}
{{- define "operator.policyLabel" -}}
durable-operator.dev/admission-policy: {{ include "operator.fullname" . | quote }}
{{- end }}

{{/* The requirements of roleBinding.namespaceSelector as a list of key, operator and values. */}}
{{- define "operator.namespaceRequirements" -}}
{{- $requirements := list }}
{{- range $key, $value := .Values.roleBinding.namespaceSelector.matchLabels }}
{{- $requirements = append $requirements (dict "key" $key "operator" "In" "values" (list $value)) }}
{{- end }}
{{- concat $requirements (.Values.roleBinding.namespaceSelector.matchExpressions | default list) | toJson }}
{{- end }}

{{/* The selector as a value of the option --namespace-selector. */}}
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

{{/* The selector as an expression in the policy for RoleBindings. */}}
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

{{/* Whether an object is in one of the namespaces, or is one of them: an expression in the policy for approvals. */}}
{{- define "operator.inNamespaces" -}}
{{- with .Values.namespaces -}}
(request.resource.resource == "namespaces" ? object.metadata.name : request.namespace) in {{ toJson . }}
{{- else -}}
true
{{- end }}
{{- end }}

/*
 * What a controller may import: the front door, for our own controllers as for those of others. `src/index.ts` adds `operator`.
 */

export { defineKind } from './kind.ts';
export { defineType } from './parsed-type.ts';
export type { ParsedType, TypeDefinition } from './parsed-type.ts';
export type {
  CustomResourceDefinition,
  Kind,
  KindDefinition,
  PrinterColumn,
  Rule,
  ScalePaths,
  SpecOf,
  StatusOf,
} from './kind.ts';
export { defineController } from './controller.ts';
export { withOptions } from './with-options.ts';
export type { OperatorScope } from './with-options.ts';
export type {
  AnyKind,
  ControllerDefinition,
  Messages,
  OfKind,
  ObjectFor,
  ResourceFor,
  ResourceOf,
} from './controller.ts';
export { child } from './child.ts';
export type {
  ChildManifest,
  ChildOptions,
  Children,
  ChildrenContext,
  Current,
  CurrentObject,
  WrappedChild,
} from './child.ts';
export type { Manifest } from './manifest.ts';
export type {
  ConvergedOptions,
  DecidedEvent,
  DoStep,
  NextOf,
  Decision,
  StalledOptions,
  WaitOptions,
} from './next.ts';
export type {
  DecisionContext,
  LookedUp,
  LookupContext,
  MessageSubject,
  ObserveContext,
  RefusedStep,
  StepContext,
  StepDefinition,
  StepResult,
} from './step.ts';
export type { ReferencedType, ReferenceContext } from './reference.ts';
export type { OwnedType, NamespacedName, ViewedObject, WatchedType } from './watched.ts';
export type { ApplyOptions, Kube, KubeReader, ListOptions } from './kube.ts';
export * from './built-in.ts';
export { isObjectName, MANAGED_BY_LABEL } from './kinds.ts';
export { labelSelectorText, matchesLabels, parseLabelSelector } from './label-selector.ts';
export type { LabelRequirement, LabelSelector } from './label-selector.ts';
export { childName, controllerReference } from './owner.ts';
export { POD_TROUBLES, podTrouble } from './pod-trouble.ts';
export type { PodSurroundings } from './pod-trouble.ts';
export { StepError } from './step-error.ts';
export type { StepErrorClass } from './step-error.ts';
export { API_ERROR_CLASSES, ApiError } from './api-error.ts';
export type { ApiErrorClass, ApiErrorFields, StatusCause, StatusDetails } from './api-error.ts';
export { inOneLine } from './cause.ts';
export type { Advice, Cause, CommandAdvice } from './cause.ts';
export { RECONCILE_REQUESTED_ANNOTATION } from './annotations.ts';
export { allow } from './policy-rule.ts';
export { digestOf } from './digest.ts';
export { durationMs, millisecondsIn as parseDuration } from './duration.ts';
export type { Condition } from './condition.ts';
export type { PolicyRule } from './policy-rule.ts';
export type { ReferencedObject } from './reference.ts';
export type { ResourceType } from './resource-type.ts';
export type { DeletedObject, Deletion } from './deletion.ts';
export type {
  AppliedObject,
  ConditionalDelete,
  ConditionalEviction,
  ConditionalPatch,
  ConditionalScale,
  NewObject,
  ObjectAt,
  Scale,
} from './kube.ts';
export type { Logger, LogMethod } from './logger.ts';
export type { Identity, KubernetesObject, ObjectMeta, OwnerReference } from './object.ts';
export { causeOfRefusal as refusalCause } from './refusal.ts';
export type { RefusalCause } from './refusal.ts';
export { redacted } from './redacted.ts';
export { workflowIdFor } from './resource-ref.ts';
export type { ResourceRef } from './resource-ref.ts';
export { truncate } from './text.ts';
export type { UnknownAttempt } from './unknown-attempt.ts';
export type { Ignored } from './messages.ts';

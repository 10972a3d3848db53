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
export { MANAGED_BY_LABEL } from './kinds.ts';
export { labelSelectorText, matchesLabels, parseLabelSelector } from './label-selector.ts';
export type { LabelRequirement, LabelSelector } from './label-selector.ts';
export { childName, controllerReference } from './owner.ts';
export { POD_TROUBLES, podTrouble } from './pod-trouble.ts';
export type { PodSurroundings } from './pod-trouble.ts';
export { StepError } from './step-error.ts';
export type { StepErrorClass } from './step-error.ts';
export { API_ERROR_CLASSES, ApiError } from '../contract/api-error.ts';
export type { ApiErrorClass, ApiErrorFields, StatusCause, StatusDetails } from '../contract/api-error.ts';
export { inOneLine } from '../contract/cause.ts';
export type { Advice, Cause, CommandAdvice } from '../contract/cause.ts';
export { RECONCILE_REQUESTED_ANNOTATION } from '../contract/control.ts';
export { allow } from '../contract/controller.ts';
export { digestOf } from '../contract/digest.ts';
export { millisecondsIn as parseDuration } from '../contract/duration.ts';
export type { Condition } from '../contract/control.ts';
export type { PolicyRule, ReferencedObject, ResourceType } from '../contract/controller.ts';
export type { DeletedObject, Deletion } from '../contract/decision.ts';
export type {
  AppliedObject,
  ConditionalDelete,
  ConditionalEviction,
  ConditionalPatch,
  ConditionalScale,
  NewObject,
  ObjectAt,
  Scale,
} from '../contract/kube.ts';
export type { Logger, LogMethod } from '../contract/logger.ts';
export type { Identity, KubernetesObject, ObjectMeta, OwnerReference } from '../contract/object.ts';
export { causeOfRefusal as refusalCause } from '../contract/refusal.ts';
export type { RefusalCause } from '../contract/refusal.ts';
export { redacted } from '../contract/redacted.ts';
export { workflowIdFor } from '../contract/resource.ts';
export type { ResourceRef } from '../contract/resource.ts';
export { truncate } from '../contract/text.ts';
export type { UnknownAttempt } from '../contract/unknown-attempt.ts';
export type { Ignored } from '../contract/words.ts';

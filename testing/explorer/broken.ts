import type { Circumstances } from '../../src/engine/holds/control.ts';
import type { NextStep } from '../../src/runs/decision.ts';
import type { Request } from './api-server.ts';
import type { AnyReconciler } from './attempt.ts';
import type { SimulatedCluster } from './cluster.ts';
import type { NewsRule } from './dispatching.ts';
import type { RunRules } from './running.ts';

/** What is broken on purpose, to see that the exploration finds it. */
export interface Broken {
  /** When the watcher signals. */
  readonly news?: Partial<NewsRule>;
  /** How runs go on. */
  readonly run?: Partial<RunRules>;
  /** What the controller decides, be it asked by the watcher or by a step. */
  readonly decide?: (its: Decide) => Decide;
  /** How steps read and write. */
  readonly reconciler?: Partial<AnyReconciler>;
  /** What is sent to the server. */
  readonly request?: (request: Request, cluster: SimulatedCluster) => Request;
  /** As if writes did not carry the version that they were decided from. */
  readonly ignoresVersions?: boolean;
}

export type Decide = (observation: unknown, nowMs: number, circumstances?: Circumstances) => NextStep;

export function decidingAs<C extends { decide: Decide }>({ decide }: Broken, controller: C): C {
  if (decide === undefined) return controller;
  return { ...controller, decide: decide((...asked) => controller.decide(...asked)) };
}

export function reconcilingAs(broken: Broken, its: AnyReconciler): AnyReconciler {
  return { ...its, ...broken.reconciler, controller: decidingAs(broken, its.controller) };
}

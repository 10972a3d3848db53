import type { NativeConnection } from '@temporalio/worker';
import { SEARCH_ATTRIBUTES } from '../runs/search-attributes.ts';
import { GRPC, grpcStatusOf } from './grpc-status.ts';

/** For all calls together. */
const CALLS_TIMEOUT_MS = 30_000;

/** `IndexedValueType` of temporal/api/enums/v1/common.proto; the package's own enum cannot be imported by name. */
const TYPES = ['Unspecified', 'Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'];
const KEYWORD = TYPES.indexOf('Keyword');

export interface RegistrationRequest {
  readonly connection: NativeConnection;
  /** `host:port`, for people. */
  readonly address: string;
  /** The Temporal namespace. */
  readonly namespace: string;
  /** Whether to register missing search attributes, or else to require them. */
  readonly registersSearchAttributes: boolean;
}

/** Search attributes are missing and cannot be registered, or have another type. The message says which, why, and what to do. */
export class SearchAttributesMissing extends Error {
  override readonly name = 'SearchAttributesMissing';
}

/**
 * Makes sure that the namespace has our search attributes. Several processes may do so at once.
 *
 * @throws SearchAttributesMissing; ServiceError if Temporal does not answer
 */
export async function ensureSearchAttributes(request: RegistrationRequest): Promise<void> {
  await request.connection.withDeadline(Date.now() + CALLS_TIMEOUT_MS, () => ensure(request));
}

async function ensure(request: RegistrationRequest): Promise<void> {
  const { connection, namespace, registersSearchAttributes: registers } = request;
  const off = '--register-search-attributes is off';
  try {
    if (registers) await registerSearchAttributes(connection, namespace);
    else requireNone(request, await missingIn(connection, namespace), off);
  } catch (error) {
    const status = grpcStatusOf(error);
    if (status === undefined || !REFUSED.has(status.code)) throw error;
    // A client that may not list or register them may still use them, as in Temporal Cloud.
    await requireAll(
      request,
      registers ? `they cannot be registered by the operator: ${status.message}` : off,
    );
  }
}

/** The call needs more rights, is not offered, or there is no room for more attributes. */
const REFUSED: ReadonlySet<number> = new Set([
  GRPC.invalidArgument,
  GRPC.permissionDenied,
  GRPC.resourceExhausted,
  GRPC.failedPrecondition,
  GRPC.unimplemented,
]);

/** @throws SearchAttributesMissing where one has another type; ServiceError */
async function missingIn(connection: NativeConnection, namespace: string): Promise<readonly string[]> {
  const { customAttributes: types } = await connection.operatorService.listSearchAttributes({ namespace });
  const attributes = Object.values(SEARCH_ATTRIBUTES);
  const wrong = attributes.find((each) => each in types && Number(types[each]) !== KEYWORD);
  if (wrong === undefined) return attributes.filter((each) => !(each in types));
  const type = TYPES[Number(types[wrong])] ?? 'unknown';
  throw new SearchAttributesMissing(
    `the search attribute ${wrong} is of type ${type}, and the operator needs type Keyword; use another Temporal namespace, or, if nothing else uses the attribute, remove it: temporal operator search-attribute remove --namespace ${namespace} --name ${wrong}`,
  );
}

/** Registers what is missing. @throws SearchAttributesMissing where one has another type; ServiceError */
export async function registerSearchAttributes(
  connection: NativeConnection,
  namespace: string,
): Promise<void> {
  const missing = await missingIn(connection, namespace);
  if (missing.length === 0) return;
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map((attribute) => [attribute, KEYWORD])),
  });
}

async function requireAll(request: RegistrationRequest, why: string): Promise<void> {
  requireNone(request, await missingOf(request), why);
}

function requireNone(request: RegistrationRequest, missing: readonly string[], why: string): void {
  if (missing.length === 0) return;
  throw new SearchAttributesMissing(
    `the search attributes ${missing.join(', ')} are missing, and ${why}; register them: ${commandFor(request, missing)}`,
  );
}

/** Needs no special rights: a query with an unknown attribute, or with one of another type, is invalid. */
async function missingOf({ connection, namespace }: RegistrationRequest): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const attribute of Object.values(SEARCH_ATTRIBUTES)) {
    try {
      const query = `${attribute} = 'any'`;
      await connection.workflowService.countWorkflowExecutions({ namespace, query });
    } catch (error) {
      if (grpcStatusOf(error)?.code !== GRPC.invalidArgument) throw error;
      missing.push(attribute);
    }
  }
  return missing;
}

/** Sources: docs.temporal.io/cloud/tcld/namespace, docs.temporal.io/cli/operator. */
function commandFor({ address, namespace }: RegistrationRequest, missing: readonly string[]): string {
  const isCloud = /\.(tmprl\.cloud|api\.temporal\.io)(:\d+)?$/.test(address);
  return isCloud
    ? `tcld namespace search-attributes add --namespace ${namespace}${missing.map((each) => ` --search-attribute ${each}=Keyword`).join('')}`
    : `temporal operator search-attribute create --namespace ${namespace}${missing.map((each) => ` --name ${each} --type Keyword`).join('')}`;
}

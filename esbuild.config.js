import { readdir, readFile } from 'node:fs/promises';
import { createRequire, isBuiltin } from 'node:module';
import { join } from 'node:path';
import { build } from 'esbuild';

/*
 * Makes one file of the commands, and one of their thread, in place of what tsc made of them: they take a person's time, and
 * most of it went into loading 800 files.
 */

/** As src/kubernetes/kube-config.ts has it. */
const withoutApiModels = {
  name: 'without the API models of @kubernetes/client-node',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^\.\/gen\/index\.js$/ }, ({ importer, kind }) =>
      importer.endsWith('client-node/dist/config.js')
        ? resolve('./dist/src/kubernetes/generated-parts.js', { kind, resolveDir: import.meta.dirname })
        : undefined,
    );
  },
};

/**
 * Has Node's own modules required, not imported: an import evaluates all that a module exports, and of `http` that loads a
 * second undici, which takes 25 ms and which nobody uses.
 */
const builtinsRequired = {
  name: "Node's own modules are required",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[\w:/]+$/ }, ({ path, kind }) =>
      kind === 'import-statement' && isBuiltin(path) ? { path, namespace: 'builtin' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}');`,
    }));
  },
};

/** What Temporal's client library calls for us. */
const CALLS_OF_THE_CLIENT = [
  'getSystemInfo',
  'describeWorkflowExecution',
  'listWorkflowExecutions',
  'terminateWorkflowExecution',
];
/** What it, and its converters, name when they are loaded, or where a server has refused something. */
const NAMED = [
  'temporal.api.common.v1',
  'temporal.api.enums.v1',
  'temporal.api.errordetails.v1',
  'temporal.api.failure.v1',
  'temporal.api.sdk.v1',
  'temporal.api.history.v1.History',
  'temporal.api.workflow.v1.VersioningOverride',
  'google.rpc.Status',
];
const SERVICE = 'temporal.api.workflowservice.v1.WorkflowService';

/**
 * Keeps of Temporal's 1,184 message types those that the commands send and receive: all of them are set up whenever one is used,
 * which takes 60 ms.
 *
 * @param {string} folder of the code that is bundled: its own calls of the service are kept
 */
function temporalMessagesOf(folder) {
  return {
    name: 'only the messages that are sent and received',
    setup({ onLoad }) {
      onLoad({ filter: /@temporalio\/proto\/protos\/json-module\.js$/ }, async ({ path }) => {
        const calls = new Set([...CALLS_OF_THE_CLIENT, ...(await callsIn(folder))]);
        const { nested } = pruned(
          { nested: await schemaIn(path) },
          typesOf(createRequire(import.meta.url)(path), calls),
          calls,
        );
        const contents = `
          const { Root, roots } = require('protobufjs/light');
          const text = ${JSON.stringify(JSON.stringify(nested))};
          module.exports = roots.__temporal ??= new Root().addJSON(JSON.parse(text));`;
        return { contents };
      });
    },
  };
}

async function callsIn(folder) {
  const files = await readdir(folder, { recursive: true });
  const texts = files
    .filter((file) => file.endsWith('.js'))
    .map((file) => readFile(join(folder, file), 'utf8'));
  return (await Promise.all(texts)).flatMap((text) =>
    [...text.matchAll(/workflowService\s*\.(\w+)\(/g)].map(([, call]) => call),
  );
}

/** What the generated module gives protobufjs. */
async function schemaIn(path) {
  let schema;
  class Root {
    addJSON(json) {
      schema = json;
      return this;
    }
  }
  const module = {};
  new Function('require', 'module', await readFile(path, 'utf8'))(() => ({ Root, roots: {} }), module);
  return schema;
}

/** The full names of all types that are needed. */
function typesOf(root, calls) {
  const kept = new Set();
  const keep = (type) => {
    if (!type || kept.has(type.fullName)) return;
    kept.add(type.fullName);
    for (const field of type.fieldsArray ?? []) keep(field.resolve().resolvedType);
  };
  const keepAll = (object) => {
    if (object.fieldsArray || object.values) keep(object);
    for (const nested of object.nestedArray ?? []) keepAll(nested);
  };
  for (const method of root.lookupService(SERVICE).methodsArray) {
    if (!calls.has(callOf(method.name))) continue;
    const { resolvedRequestType, resolvedResponseType } = method.resolve();
    keep(resolvedRequestType);
    keep(resolvedResponseType);
  }
  for (const name of NAMED) keepAll(root.lookup(name));
  return kept;
}

function callOf(method) {
  return method.charAt(0).toLowerCase() + method.slice(1);
}

/** The same schema with these types alone. Services stay, without the methods that nobody calls. */
function pruned(schema, kept, calls, at = '') {
  const { nested = {}, ...rest } = schema;
  if (schema.methods) {
    return {
      ...rest,
      methods: pick(schema.methods, (name) => at === `.${SERVICE}` && calls.has(callOf(name))),
    };
  }
  const children = Object.entries(nested)
    .map(([name, child]) => [name, pruned(child, kept, calls, `${at}.${name}`)])
    .filter(([, child]) => child !== undefined);
  if (schema.values) return kept.has(at) ? schema : undefined;
  if (!kept.has(at) && children.length === 0) return undefined;
  const withNested = { ...rest, nested: Object.fromEntries(children) };
  // Of what only holds a type that is needed, nothing else is.
  return schema.fields && !kept.has(at) ? { fields: {}, nested: withNested.nested } : withNested;
}

function pick(record, isKept) {
  return Object.fromEntries(Object.entries(record).filter(([name]) => isKept(name)));
}

await build({
  entryPoints: ['dist/src/ask/process.js', 'dist/src/ask/runs-thread-answers.js'],
  outdir: 'dist/src/ask',
  allowOverwrite: true,
  bundle: true,
  platform: 'node',
  format: 'esm',
  minifySyntax: true,
  minifyWhitespace: true,
  // Packages in CommonJS ask for Node's own modules by it.
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
  plugins: [builtinsRequired, temporalMessagesOf('dist/src/ask'), withoutApiModels],
});

import { isBuiltin } from 'node:module';
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
  plugins: [builtinsRequired, withoutApiModels],
});

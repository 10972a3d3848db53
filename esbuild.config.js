import { build } from 'esbuild';

/*
 * Makes the commands one file, in place of what tsc made of src/ask/process.ts: they take a person's time, and most of it
 * went into loading 800 files.
 */
await build({
  entryPoints: ['dist/src/ask/process.js'],
  outfile: 'dist/src/ask/process.js',
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
  plugins: [
    {
      name: 'without the API models of @kubernetes/client-node, as src/kubernetes/kube-config.ts has it',
      setup({ onResolve, resolve }) {
        onResolve({ filter: /^\.\/gen\/index\.js$/ }, ({ importer, kind }) =>
          importer.endsWith('client-node/dist/config.js')
            ? resolve('./dist/src/kubernetes/generated-parts.js', { kind, resolveDir: import.meta.dirname })
            : undefined,
        );
      },
    },
  ],
});

// node --import ./src/typescript.mjs FILE: runs TypeScript. Node 20 cannot, and tsx sets the name of each function when
// it is created (esbuild's keepNames), closures included: that took a sixth of the CPU of a small read.
import * as nodeModule from 'node:module'

const HOOKS = './typescript-hooks.mjs'

process.setSourceMapsEnabled(true)
if (nodeModule.registerHooks) nodeModule.registerHooks(await import(HOOKS))
else nodeModule.register(HOOKS, import.meta.url)

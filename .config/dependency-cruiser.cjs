/**
 * Who imports whom. Each folder of src may import itself, `errors.ts` and the folders named here; everything else is an
 * error. `index.ts` files re-export from files of any folder, and nobody imports them.
 */
const mayImport = {
  core: [],
  protocols: ['core'],
  subscriptions: ['core'],
  concurrency: ['core'],
  negotiation: ['core', 'protocols'],
  handler: ['core', 'protocols'],
  connection: ['core', 'protocols', 'negotiation', 'handler'],
  behaviour: ['core', 'protocols', 'handler'],
  swarm: ['core', 'protocols', 'handler', 'connection', 'behaviour'],
  behaviours: ['core', 'protocols', 'handler', 'behaviour', 'concurrency'],
  libp2p: [
    'core', 'protocols', 'subscriptions', 'concurrency', 'negotiation', 'handler', 'connection', 'behaviour', 'swarm', 'behaviours'
  ],
  testing: ['core', 'protocols', 'negotiation', 'handler', 'connection', 'behaviour', 'swarm'],
  bench: ['core', 'concurrency'],
  demo: []
}

const folders = Object.keys(mayImport)
const withPackages = ['behaviours', 'libp2p', 'bench', 'demo']
/** From here upwards the types of peer ids, multiaddrs and streams are words that everybody knows. */
const withHostTypes = ['behaviour', 'swarm']
const withNode = ['bench', 'demo']

const inFolders = (names) => `^src/(${names.join('|')})/`
const outOf = (names) => ({ path: '^src/', pathNot: inFolders(names) })

const npm = ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-bundled', 'npm-no-pkg', 'npm-unknown']

const layers = folders.map((folder) => ({
  name: `layer-${folder}`,
  comment: `${folder} may import: ${['itself', 'errors.ts', ...mayImport[folder]].join(', ')}`,
  severity: 'error',
  from: { path: `^src/${folder}/`, pathNot: '/index\\.ts$' },
  to: { path: '^src/', pathNot: [inFolders([folder, ...mayImport[folder]]), '^src/errors\\.ts$'] }
}))

module.exports = {
  forbidden: [
    ...layers,
    {
      name: 'layer-errors',
      comment: 'errors.ts is at the bottom: it may name the types of core',
      severity: 'error',
      from: { path: '^src/errors\\.ts$' },
      to: { path: '^src/', pathNot: '^src/core/' }
    },
    {
      name: 'folder-without-a-layer',
      comment: 'a new folder gets its line in the table above first',
      severity: 'error',
      from: { path: '^src/', pathNot: [inFolders(folders), '^src/(errors|index)\\.ts$'] },
      to: {}
    },
    {
      name: 'nobody-imports-an-index',
      comment: 'an index.ts is for those outside; files of the package import each other',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '/index\\.ts$' }
    },
    {
      name: 'nobody-imports-the-demo',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/demo/' },
      to: { path: '^src/demo/' }
    },
    {
      name: 'no-packages-in-the-core',
      comment: 'packages are for libp2p, behaviours, bench and demo',
      severity: 'error',
      from: outOf([...withPackages, ...withHostTypes]),
      to: { dependencyTypes: npm }
    },
    {
      name: 'only-host-types-above-the-handlers',
      comment: 'behaviour and swarm may import the types of @libp2p/interface, @libp2p/interface-internal and @multiformats/multiaddr, and nothing at run time',
      severity: 'error',
      from: { path: inFolders(withHostTypes) },
      to: { dependencyTypes: npm, dependencyTypesNot: ['type-only'] }
    },
    {
      name: 'no-other-types-above-the-handlers',
      comment: 'behaviour and swarm know no types of packages but those',
      severity: 'error',
      from: { path: inFolders(withHostTypes) },
      to: { dependencyTypes: npm, pathNot: '(^|/)node_modules/(@libp2p/interface|@libp2p/interface-internal|@multiformats/multiaddr)/' }
    },
    {
      name: 'no-node-modules-in-a-browser',
      comment: 'node: modules are for bench and demo',
      severity: 'error',
      from: outOf(withNode),
      to: { dependencyTypes: ['core'] }
    },
    {
      name: 'no-dev-dependencies-in-what-ships',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/demo/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['npm-peer'] }
    },
    {
      name: 'no-unlisted-packages',
      comment: 'what is imported stands in package.json; an optional peer, which has a line in peerDependenciesMeta, is called npm-no-pkg as well',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm-peer'] }
    },
    {
      name: 'no-smoldot',
      comment: 'its licence allows it as a peer in a private test folder, nowhere else',
      severity: 'error',
      from: { pathNot: '^test/interop/smoldot/' },
      to: { path: 'smoldot', pathNot: '^test/interop/smoldot/[^/]+$' }
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: { path: '^src/' },
      to: { circular: true }
    },
    {
      name: 'no-orphans',
      comment: 'a file that neither imports nor is imported',
      severity: 'error',
      from: { path: '^src/', pathNot: '/index\\.ts$', orphan: true },
      to: {}
    },
    {
      name: 'everything-resolves',
      comment: 'what does not resolve escapes every other rule; the package itself leads to dist, which may not be built, '
        + 'and two folders of test have installs of their own, which may not be there',
      severity: 'error',
      from: { pathNot: '^test/(compliance|interop)/' },
      to: { couldNotResolve: true, pathNot: '^libp2p-behaviours(/|$)' }
    }
  ],
  options: {
    doNotFollow: { path: '(^|/)(node_modules|dist)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['types', 'import', 'default'] }
  }
}

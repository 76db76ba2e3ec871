import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import js from '@eslint/js'
import stylistic from '@stylistic/eslint-plugin'
import jsdoc from 'eslint-plugin-jsdoc'
import { defineConfig } from 'eslint/config'
import tseslint from 'typescript-eslint'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Everything through which a machine could reach the clock, a timer, the host or its events. */
const outside = [
  'setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate', 'queueMicrotask',
  'requestAnimationFrame', 'requestIdleCallback', 'performance', 'Date', 'crypto',
  'AbortSignal', 'AbortController', 'EventTarget', 'Event', 'CustomEvent', 'MessageChannel', 'BroadcastChannel', 'Worker',
  'fetch', 'WebSocket', 'navigator', 'process', 'console', 'Buffer', 'globalThis', 'global', 'window', 'self'
]

/** The clock and the timers: in the impure folders only the scheduler has them. */
const time = [
  'setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'requestAnimationFrame', 'performance', 'Date', 'MessageChannel'
]

/** Globals of Node that a browser lacks. */
const nodeOnly = ['process', 'Buffer', 'global']

const noRandom = ['error', { object: 'Math', property: 'random', message: 'randomness is an argument' }]

/** Forms that no file uses. */
const forms = [
  { selector: 'ExportAllDeclaration', message: 'name what is exported' },
  { selector: 'ImportSpecifier[importKind="type"], ExportSpecifier[exportKind="type"]', message: 'write import type (export type) apart' },
  { selector: 'ImportDeclaration[source.value=/^\\.\\.?\\u002F.*\\.js$/]', message: 'import sources with their .ts suffix' }
]

const sansIoForms = [
  ...forms,
  { selector: 'AwaitExpression, ForOfStatement[await=true]', message: 'no await below src/libp2p' },
  { selector: ':function[async=true]', message: 'no async function below src/libp2p' },
  { selector: 'TSTypeReference[typeName.name="Promise"]', message: 'no promise below src/libp2p' },
  { selector: 'ImportExpression', message: 'no import at run time below src/libp2p' }
]

const sources = ['src/**/*.ts']
const checks = ['test/**/*.ts', 'benches/**/*.ts']
/** Without types: no tsconfig.json includes them, and the folders of test with a package.json have installs of their own. */
const untyped = ['**/*.js', '**/*.cjs', '**/*.mjs', '.config/**', 'test/compliance/**', 'test/interop/*/**']

export default defineConfig(
  { ignores: ['**/node_modules/', 'dist/', 'coverage/', '.bench/', 'docs/', '.readme/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error', reportUnusedInlineConfigs: 'error' } },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  stylistic.configs.customize({
    semi: false,
    quotes: 'single',
    indent: 2,
    commaDangle: 'never',
    braceStyle: '1tbs',
    quoteProps: 'as-needed'
  }),
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: root }
    },
    rules: {
      curly: ['error', 'all'],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-restricted-syntax': ['error', ...forms],
      'no-var': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',

      '@stylistic/array-bracket-spacing': ['error', 'never'],
      '@stylistic/arrow-parens': 'off',
      '@stylistic/generator-star-spacing': ['error', 'both'],
      '@stylistic/max-len': ['error', { code: 160, ignoreUrls: true, ignoreStrings: true, ignoreTemplateLiterals: true }],
      '@stylistic/max-statements-per-line': ['error', { max: 2 }],
      '@stylistic/no-extra-semi': 'error',
      '@stylistic/operator-linebreak': ['error', 'before', { overrides: { '=': 'after' } }],
      '@stylistic/space-before-function-paren': ['error', 'always'],
      '@stylistic/yield-star-spacing': ['error', 'both'],

      '@typescript-eslint/consistent-type-definitions': ['error', 'interface'],
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
      '@typescript-eslint/explicit-function-return-type': ['error', { allowExpressions: true }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/method-signature-style': ['error', 'method'],
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrors: 'all' }],
      // What user code threw is passed on as it is.
      '@typescript-eslint/only-throw-error': ['error', { allowThrowingAny: false, allowThrowingUnknown: true }],
      '@typescript-eslint/prefer-promise-reject-errors': ['error', { allowThrowingAny: false, allowThrowingUnknown: true }],
      '@typescript-eslint/prefer-readonly': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', {
        allowDefaultCaseForExhaustiveSwitch: false,
        considerDefaultExhaustiveForUnions: false,
        requireDefaultForNonUnion: false
      }]
    }
  },
  {
    name: 'documentation of what is exported',
    files: sources,
    ignores: ['src/demo/**'],
    plugins: { jsdoc },
    settings: { jsdoc: { mode: 'typescript', tagNamePreference: { returns: 'returns' } } },
    rules: {
      'jsdoc/check-alignment': 'error',
      'jsdoc/check-param-names': ['error', { checkDestructured: false, disableMissingParamChecks: true }],
      'jsdoc/check-tag-names': ['error', { typed: true, definedTags: ['remarks', 'typeParam', 'defaultValue', 'packageDocumentation'] }],
      'jsdoc/no-bad-blocks': 'error',
      'jsdoc/no-types': 'error',
      'jsdoc/require-param-description': 'error',
      'jsdoc/require-jsdoc': ['error', {
        checkConstructors: false,
        require: { FunctionDeclaration: false },
        contexts: [
          ...['ClassDeclaration', 'FunctionDeclaration', 'TSInterfaceDeclaration', 'TSTypeAliasDeclaration']
            .map((type) => `ExportNamedDeclaration > ${type}`),
          'ExportNamedDeclaration[declaration.type="VariableDeclaration"]',
          'ExportNamedDeclaration > TSInterfaceDeclaration[id.name=/(Init|Options|Limits)$/] > TSInterfaceBody > TSPropertySignature',
          // A method that overrides or implements inherits its doc (typedoc checks those), a #private one is nobody's business.
          'ExportNamedDeclaration > ClassDeclaration[implements.length=0] > ClassBody > '
          + 'MethodDefinition[kind!="constructor"][override!=true][key.type!="PrivateIdentifier"][accessibility!="private"]'
        ]
      }]
    }
  },
  {
    name: 'what runs in a browser has no console, nor the globals of Node',
    files: sources,
    ignores: ['src/demo/**', 'src/bench/**'],
    rules: {
      'no-console': 'error',
      'no-restricted-globals': ['error', ...nodeOnly]
    }
  },
  {
    name: 'sans-IO',
    files: [
      'src/{core,protocols,negotiation,subscriptions,handler,connection,behaviour,swarm,testing}/**/*.ts',
      'src/errors.ts'
    ],
    rules: {
      'no-restricted-globals': ['error', ...outside, 'Promise'],
      'no-restricted-properties': noRandom,
      'no-restricted-syntax': ['error', ...sansIoForms]
    }
  },
  {
    name: 'pure, but about promises or with a clock as argument',
    files: ['src/{concurrency,bench}/**/*.ts'],
    // What starts a process or an isolate, and passes the clock in.
    ignores: ['src/bench/{bin,child,node-host,worker}.ts'],
    rules: {
      'no-restricted-globals': ['error', ...outside],
      'no-restricted-properties': noRandom
    }
  },
  {
    name: 'one file has the clock and the timers',
    files: ['src/{libp2p,behaviours}/**/*.ts'],
    ignores: ['src/libp2p/scheduler.ts'],
    rules: {
      'no-restricted-globals': ['error', ...nodeOnly, ...time],
      'no-restricted-properties': noRandom
    }
  },
  {
    name: 'tests, benches and the demo',
    files: [...checks, 'src/demo/**/*.ts'],
    rules: {
      // A test says what must be there by using it, and its doubles need not be async all the way.
      '@typescript-eslint/explicit-function-return-type': 'off',
      '@typescript-eslint/explicit-module-boundary-types': 'off',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true, ignoreVoidOperator: true }],
      // mplex is, and stays one of the muxers that the wrap must carry.
      '@typescript-eslint/no-deprecated': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/require-await': 'off',
      // Helpers are handed out as records and taken apart; none of them has a this.
      '@typescript-eslint/unbound-method': 'off',
      '@stylistic/max-statements-per-line': 'off'
    }
  },
  {
    name: 'type tests state facts about types that are never read',
    files: ['test/types/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unused-vars': 'off',
      '@typescript-eslint/no-unused-expressions': 'off'
    }
  },
  {
    name: 'files outside every tsconfig.json',
    files: untyped,
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      parserOptions: { projectService: false },
      globals: { console: 'readonly', process: 'readonly', module: 'writable', URL: 'readonly' }
    },
    rules: {
      '@typescript-eslint/explicit-function-return-type': 'off',
      '@typescript-eslint/explicit-module-boundary-types': 'off',
      'no-restricted-syntax': 'off'
    }
  },
  {
    name: 'peers of other makes, on Node',
    files: ['test/interop/**/*.js'],
    languageOptions: { globals: { Buffer: 'readonly', TextEncoder: 'readonly', performance: 'readonly', setTimeout: 'readonly' } }
  },
  {
    name: 'suites written for mocha',
    files: ['test/compliance/*.spec.js'],
    languageOptions: { globals: { after: 'readonly', before: 'readonly', describe: 'readonly' } }
  }
)
